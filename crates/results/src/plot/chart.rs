//! Charts on two axes: layout, axes, legend, annotations.

use crate::plot::annotate::{self, Mark};
use crate::plot::axis::{Axis, Kind, Scale};
use crate::plot::canvas::{Canvas, Path};
use crate::plot::data;
use crate::plot::extent::{self, Plan};
use crate::plot::figure::{Drawing, Figure};
use crate::plot::frame::{Area, Frame};
use crate::plot::lines;
use crate::plot::marks::{self, Look};
use crate::plot::series::{Data, Series};
use crate::plot::style::Color;
use crate::plot::text;
use crate::plot::ticks;

/// Height of a plot where each series has one of its own, in pixels.
const PANEL: f64 = 60.0;

/// A chart on two axes.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Chart {
    title: String,
    width: f64,
    height: f64,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    marks: Vec<Mark>,
    notes: Vec<String>,
    quiet: bool,
    apart: bool,
}

impl Chart {
    /// An empty chart, 1000 by 320 pixels.
    pub fn new(title: impl Into<String>) -> Self {
        Chart {
            title: title.into(),
            width: 1000.0,
            height: 320.0,
            ..Chart::default()
        }
    }

    /// Half as wide, for two charts side by side ([`crate::plot::Page::pair`]).
    pub fn half(self) -> Self {
        self.size(506, 320)
    }

    /// Width and height in pixels, from 200 by 120 to 4000 by 4000.
    pub fn size(mut self, width: u32, height: u32) -> Self {
        self.width = f64::from(width.clamp(200, 4000));
        self.height = f64::from(height.clamp(120, 4000));
        self
    }

    /// The horizontal axis.
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// The vertical axis.
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// Adds a series; later ones are drawn over earlier ones.
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds an annotation.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// Adds a note of the caller's to those of the picture.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Leaves out the notes on what the picture does not show, where the caller
    /// says it.
    pub fn quiet(mut self) -> Self {
        self.quiet = true;
        self
    }

    /// Whether each series is drawn in a panel of its own, one below the other on the
    /// same axes, with its name above it; the chart is as high as they need.
    pub fn apart(mut self, apart: bool) -> Self {
        self.apart = apart;
        self
    }
}

impl Figure for Chart {
    fn draw(&self) -> Drawing {
        let (mut canvas, top) = Canvas::titled(&self.title, self.width);
        let (top, high) = match self.apart {
            true => (top, PANEL),
            false => (self.legend(&mut canvas, top), self.height),
        };
        let mut height = self.height;
        match extent::resolve((&self.x, &self.y), &self.series, &self.marks, high) {
            None => no_data(&mut canvas, top, height),
            Some(plan) if self.apart => height = self.panels(&mut canvas, top, &plan),
            Some(plan) => self.plot(&mut canvas, top, &plan),
        }
        lines::join_thinned(&mut canvas.notes);
        canvas.notes.extend(self.notes.iter().cloned());
        let description = data::describe(&self.x, &self.y, &self.series);
        let table = data::table(&self.x, &self.y, &self.series);
        canvas.drawing(height, description, table)
    }
}

/// Room above and below a plot, for marks and titles of the axes.
fn margins(plan: &Plan) -> (f64, f64) {
    let room = |axis: &Axis, without: f64, with: f64| match axis.title().is_empty() {
        true => without,
        false => with,
    };
    (room(&plan.y, 6.0, 22.0), room(&plan.x, 26.0, 44.0))
}

impl Chart {
    /// A plot per series; returns where the last ends.
    fn panels(&self, canvas: &mut Canvas, mut top: f64, plan: &Plan) -> f64 {
        let last = self.series.len().saturating_sub(1);
        for (index, (one, look)) in self.series.iter().zip(self.looks()).enumerate() {
            canvas.fitted_text((2.0, top + 14.0), "b6", &one.name, self.width - 4.0);
            top += 18.0;
            // What the axes are is said once, at the first and at the last panel.
            let mut own = plan.clone();
            if index < last {
                own.x.label.clear();
            }
            if index > 0 {
                own.y.label.clear();
            }
            let (above, below) = margins(&own);
            let panel = Chart {
                width: self.width,
                height: top + above + PANEL + below,
                series: vec![one.clone().color(look.color).dash(0)],
                marks: self.marks.clone(),
                quiet: self.quiet,
                ..Chart::default()
            };
            panel.plot(canvas, top, &own);
            top = panel.height;
        }
        top
    }

    fn plot(&self, canvas: &mut Canvas, top: f64, plan: &Plan) {
        let title_y = plan.y.title();
        let (above, below) = margins(plan);
        let top = top + above;
        let height = (self.height - top - below).max(30.0);
        let want = (height / 38.0).clamp(2.0, 10.0) as usize;
        let ticks_y = ticks::ticks(&plan.y, plan.ends_y, want);
        let all = ticks_y.iter().map(|tick| text::width(&tick.label, 11.0));
        let widest = all.fold(0.0, f64::max);
        let left = (widest + 10.0).clamp(24.0, self.width / 2.0);
        let width = (self.width - left - 12.0).max(40.0);
        let area = Area {
            left,
            top,
            width,
            height,
        };
        let series = || self.series.iter().map(|one| &one.data);
        let count = |is: fn(&&Data) -> bool| series().filter(is).count();
        let frame = Frame {
            x: Scale::new(&plan.x, plan.ends_x, 0.0, width),
            y: Scale::new(&plan.y, plan.ends_y, height, 0.0),
            x_axis: &plan.x,
            y_axis: &plan.y,
            width,
            height,
            bar_series: count(|data| matches!(data, Data::Bars(_))),
            bin_series: count(|data| matches!(data, Data::Bins { .. })),
        };
        if !title_y.is_empty() {
            canvas.fitted_text((2.0, top - 9.0), "h", &title_y, self.width - 4.0);
        }
        self.grid(canvas, area, &frame, &ticks_y, plan);
        canvas.open_area(left, top, width, height);
        let mut bar = 0;
        for (one, look) in self.series.iter().zip(self.looks()) {
            canvas.open(look.color);
            let told = marks::draw(canvas, &frame, one, bar, look);
            let told = told.into_iter().filter(|_| !self.quiet);
            canvas.notes.extend(told);
            canvas.close();
            bar += usize::from(matches!(one.data, Data::Bars(_)));
        }
        canvas.close_area();
        annotate::annotations(&self.marks, canvas, area, &frame);
        let base = top + height;
        canvas.line("x", (left, base), (left + width, base));
    }

    /// How each series looks: the next colour of the palette unless it has one
    /// of its own, and for lines the next dash pattern.
    fn looks(&self) -> Vec<Look> {
        let (mut colors, mut lines) = (0, 0);
        let look = |one: &Series| {
            let color = one.color.unwrap_or_else(|| {
                colors += 1;
                Color::Series(colors - 1)
            });
            let order = lines;
            lines += usize::from(marks::is_line(one));
            Look { color, order }
        };
        self.series.iter().map(look).collect()
    }

    /// Gridlines, tick marks and their labels.
    fn grid(
        &self,
        canvas: &mut Canvas,
        area: Area,
        frame: &Frame,
        ticks_y: &[ticks::Tick],
        plan: &Plan,
    ) {
        let (right, bottom) = (area.left + area.width, area.top + area.height);
        let (mut lines, mut stubs) = (Path::default(), Path::default());
        let mut zero = None;
        for tick in ticks_y {
            let Some(at) = frame.y.inside(tick.value).map(|at| area.top + at) else {
                continue;
            };
            if tick.label.is_empty() {
                stubs.line((area.left - 3.0, at), (area.left, at));
                continue;
            }
            if tick.value == 0.0 {
                zero = Some(at);
            }
            lines.line((area.left, at), (right, at));
            canvas.text(area.left - 6.0, at + 4.0, "k e", &tick.label);
        }
        let scale = Scale::new(&plan.x, plan.ends_x, area.left, right);
        let categories = matches!(plan.x.kind, Kind::Categories(_));
        for (tick, middle) in
            ticks::horizontal(&plan.x, plan.ends_x, &scale, (2.0, self.width - 2.0))
        {
            let Some(at) = scale.inside(tick.value) else {
                continue;
            };
            if !categories {
                if !tick.label.is_empty() {
                    lines.line((at, area.top), (at, bottom));
                }
                let length = if tick.label.is_empty() { 3.0 } else { 5.0 };
                stubs.line((at, bottom), (at, bottom + length));
            }
            if !tick.label.is_empty() {
                canvas.text(middle, bottom + 17.0, "k m", &tick.label);
            }
        }
        canvas.path("g", &lines);
        canvas.path("x", &stubs);
        if let Some(at) = zero.filter(|at| (at - bottom).abs() > 0.5) {
            canvas.line("x", (area.left, at), (right, at));
        }
        let title = plan.x.title();
        if !title.is_empty() {
            let middle = area.left + area.width / 2.0;
            canvas.fitted_text((middle, bottom + 36.0), "h m", &title, area.width);
        }
    }

    /// The legend: an entry per named series, in as many rows as needed.
    /// Returns where the chart may go on.
    fn legend(&self, canvas: &mut Canvas, top: f64) -> f64 {
        let all = self.series.iter().zip(self.looks());
        let named: Vec<_> = all.filter(|(one, _)| !one.name.is_empty()).collect();
        if named.len() < 2 {
            return top;
        }
        let names = named.iter().map(|(one, _)| one.name.as_str());
        legend(canvas, names, top, |canvas, index, at| {
            let (one, look) = named[index];
            canvas.open(look.color);
            marks::swatch(canvas, one, look, at);
            canvas.close();
        })
    }
}

/// Draws samples and what they mean, in as many lines as it takes; returns where
/// the picture goes on. `sample` draws the one at an index, 20 pixels wide, its
/// middle here.
pub(super) fn legend<'a>(
    canvas: &mut Canvas,
    names: impl ExactSizeIterator<Item = &'a str>,
    top: f64,
    sample: impl Fn(&mut Canvas, usize, (f64, f64)),
) -> f64 {
    const MOST: usize = 24;
    let hidden = names.len().saturating_sub(MOST);
    if names.len() == 0 {
        return top;
    }
    let (mut x, mut y) = (2.0, top + 14.0);
    for (index, name) in names.enumerate().take(MOST) {
        let label = text::fit(name, 12.0, 260.0);
        let wide = 26.0 + text::width(&label, 12.0) + 16.0;
        if x + wide > canvas.width && x > 2.0 {
            (x, y) = (2.0, y + 18.0);
        }
        sample(canvas, index, (x, y - 4.0));
        let title = if label == name { "" } else { name };
        canvas.titled_text(x + 26.0, y, "", &label, title);
        x += wide;
    }
    if hidden > 0 {
        y += 18.0;
        canvas.text(2.0, y, "k", &format!("and {hidden} more"));
    }
    y + 6.0
}

/// Says that there is nothing to draw.
pub(super) fn no_data(canvas: &mut Canvas, top: f64, height: f64) {
    let width = canvas.width;
    let room = (height - top - 24.0).max(20.0);
    canvas.rect("g", "", [2.0, top + 8.0, width - 4.0, room], "");
    canvas.text(width / 2.0, top + 12.0 + room / 2.0, "h m", "no data");
}
