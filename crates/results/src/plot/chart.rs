//! Charts on two axes: layout, axes, legend, annotations.

use crate::plot::axis::{Axis, Kind, Scale, Unit};
use crate::plot::canvas::{Canvas, Path};
use crate::plot::data::{self, Stack};
use crate::plot::figure::{Drawing, Figure};
use crate::plot::marks::{self, Frame, Look};
use crate::plot::series::{Data, Series};
use crate::plot::style::Color;
use crate::plot::text;
use crate::plot::ticks;

/// A chart on two axes.
#[derive(Clone, Debug)]
pub struct Chart {
    title: String,
    description: Option<String>,
    width: f64,
    height: f64,
    x: Axis,
    y: Axis,
    series: Vec<Series>,
    marks: Vec<Mark>,
    notes: Vec<String>,
}

impl Chart {
    /// An empty chart, 1000 by 320 pixels.
    #[must_use]
    pub fn new(title: impl Into<String>) -> Self {
        Chart {
            title: title.into(),
            description: None,
            width: 1000.0,
            height: 320.0,
            x: Axis::linear("", Unit::Plain),
            y: Axis::linear("", Unit::Plain),
            series: Vec::new(),
            marks: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Half as wide, for two charts side by side ([`crate::plot::Page::pair`]).
    #[must_use]
    pub fn half(self) -> Self {
        self.size(506, 320)
    }

    /// Width and height in pixels, from 200 by 120 to 4000 by 4000.
    #[must_use]
    pub fn size(mut self, width: u32, height: u32) -> Self {
        self.width = f64::from(width.clamp(200, 4000));
        self.height = f64::from(height.clamp(120, 4000));
        self
    }

    /// The horizontal axis.
    #[must_use]
    pub fn x(mut self, axis: Axis) -> Self {
        self.x = axis;
        self
    }

    /// The vertical axis.
    #[must_use]
    pub fn y(mut self, axis: Axis) -> Self {
        self.y = axis;
        self
    }

    /// Adds a series; later ones are drawn over earlier ones.
    #[must_use]
    pub fn series(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds an annotation.
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// Adds a note of the caller's to those of the picture.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Replaces the generated description for those who cannot see the chart.
    #[must_use]
    pub fn describe(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }
}

/// An annotation: a value or a range of one axis, with a label.
#[derive(Clone, Debug)]
pub struct Mark {
    place: Place,
    label: String,
    color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    X(f64),
    Y(f64),
    Xs(f64, f64),
    Ys(f64, f64),
}

impl Mark {
    /// A vertical line at this x.
    #[must_use]
    pub fn x(at: f64, label: impl Into<String>) -> Self {
        Mark::of(Place::X(at), label.into())
    }

    /// A horizontal line at this y.
    #[must_use]
    pub fn y(at: f64, label: impl Into<String>) -> Self {
        Mark::of(Place::Y(at), label.into())
    }

    /// A shaded range of x.
    #[must_use]
    pub fn x_range(from: f64, to: f64, label: impl Into<String>) -> Self {
        Mark::of(Place::Xs(from, to), label.into())
    }

    /// A shaded range of y.
    #[must_use]
    pub fn y_range(from: f64, to: f64, label: impl Into<String>) -> Self {
        Mark::of(Place::Ys(from, to), label.into())
    }

    /// Its colour; the colour of text if not given.
    #[must_use]
    pub fn color(mut self, color: Color) -> Self {
        self.color = color;
        self
    }

    fn of(place: Place, label: String) -> Self {
        Mark {
            place,
            label,
            color: Color::Ink,
        }
    }

    /// The values it needs on the x and on the y axis.
    fn needs(&self) -> (Vec<f64>, Vec<f64>) {
        match self.place {
            Place::X(at) => (vec![at], Vec::new()),
            Place::Y(at) => (Vec::new(), vec![at]),
            Place::Xs(from, to) => (vec![from, to], Vec::new()),
            Place::Ys(from, to) => (Vec::new(), vec![from, to]),
        }
    }
}

impl Figure for Chart {
    fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        let mut notes = Vec::new();
        let top = head(&mut canvas, &self.title, self.width);
        let top = self.legend(&mut canvas, top);
        match self.resolve() {
            None => no_data(&mut canvas, top, self.width, self.height),
            Some(plan) => self.plot(&mut canvas, top, &plan, &mut notes),
        }
        notes.extend(self.notes.iter().cloned());
        Drawing {
            title: self.title.clone(),
            description: self
                .description
                .clone()
                .unwrap_or_else(|| data::describe(&self.x, &self.y, &self.series)),
            width: self.width,
            height: self.height,
            body: canvas.finish_body(),
            notes,
            table: data::table(&self.x, &self.y, &self.series),
        }
    }
}

/// Ends of the axes, and what had to be summed up to know them.
struct Plan {
    x: Axis,
    y: Axis,
    ends_x: (f64, f64),
    ends_y: (f64, f64),
    stack: Stack,
}

/// Where the plot lies.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Chart {
    /// Finds the ends of both axes; `None` if there is nothing to draw.
    fn resolve(&self) -> Option<Plan> {
        let (mut x, mut y) = (self.x.clone(), self.y.clone());
        for mark in &self.marks {
            let (xs, ys) = mark.needs();
            x.include.extend(xs);
            y.include.extend(ys);
        }
        let merge = |a: Option<(f64, f64)>, b: Option<(f64, f64)>| match (a, b) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
        let all_x = self
            .series
            .iter()
            .map(|one| data::span_x(&x, one))
            .fold(None, merge);
        let ends_x = x.ends(all_x)?;
        let stack = Stack::of(&x, &self.series, ends_x, self.width);
        let all_y = self
            .series
            .iter()
            .map(|one| data::span_y(&y, one))
            .fold(stack.span(), merge)?;
        let fixed = y.low.is_some();
        let ends_y = y.ends(Some(all_y))?;
        let ends_y = if fixed {
            ends_y
        } else {
            rounded(&y, ends_y, self.height)
        };
        let ends_x = if x.low.is_some() {
            ends_x
        } else {
            padded(&x, &self.series, ends_x)
        };
        Some(Plan {
            x,
            y,
            ends_x,
            ends_y,
            stack,
        })
    }

    fn plot(&self, canvas: &mut Canvas, top: f64, plan: &Plan, notes: &mut Vec<String>) {
        let title_y = plan.y.title();
        let top = if title_y.is_empty() {
            top + 6.0
        } else {
            top + 22.0
        };
        let below = if plan.x.title().is_empty() {
            26.0
        } else {
            44.0
        };
        let height = (self.height - top - below).max(30.0);
        let want = (height / 38.0).clamp(2.0, 10.0) as usize;
        let ticks_y = ticks::ticks(&plan.y, plan.ends_y, want);
        let widest = ticks_y
            .iter()
            .map(|tick| text::width(&tick.label, 11.0))
            .fold(0.0, f64::max);
        let left = (widest + 10.0).clamp(24.0, self.width / 2.0);
        let width = (self.width - left - 12.0).max(40.0);
        let area = Area {
            left,
            top,
            width,
            height,
        };
        let frame = Frame {
            x: Scale::new(&plan.x, plan.ends_x, 0.0, width),
            y: Scale::new(&plan.y, plan.ends_y, height, 0.0),
            x_axis: &plan.x,
            y_axis: &plan.y,
            width,
            height,
            stack: &plan.stack,
            bar_series: self
                .series
                .iter()
                .filter(|one| matches!(one.data, Data::Bars(_)))
                .count(),
            bin_series: self
                .series
                .iter()
                .filter(|one| matches!(one.data, Data::Bins { .. }))
                .count(),
        };
        if !title_y.is_empty() {
            canvas.fitted_text((2.0, top - 9.0), "h", &title_y, self.width - 4.0);
        }
        self.grid(canvas, area, &frame, &ticks_y, plan);
        canvas.open_area(left, top, width, height);
        self.ranges(canvas, &frame);
        let mut bar = 0;
        let looks = self.looks();
        for (index, one) in self.series.iter().enumerate() {
            let look = looks[index];
            canvas.open(look.color);
            notes.extend(marks::draw(canvas, &frame, one, index, bar, look));
            canvas.close();
            bar += usize::from(matches!(one.data, Data::Bars(_)));
        }
        canvas.close_area();
        if plan.stack.averaged {
            notes.push("Stacked areas are means over two pixels each.".to_owned());
        }
        self.annotations(canvas, area, &frame, notes);
        let mut base = Path::default();
        base.start(left, top + height);
        base.to(left + width, top + height);
        canvas.path("x", &base);
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
                stubs.start(area.left - 3.0, at);
                stubs.to(area.left, at);
                continue;
            }
            if tick.value == 0.0 {
                zero = Some(at);
            }
            lines.start(area.left, at);
            lines.to(right, at);
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
                    lines.start(at, area.top);
                    lines.to(at, bottom);
                }
                stubs.start(at, bottom);
                stubs.to(at, bottom + if tick.label.is_empty() { 3.0 } else { 5.0 });
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

    /// Shaded ranges, below the series.
    fn ranges(&self, canvas: &mut Canvas, frame: &Frame) {
        for mark in &self.marks {
            let mut path = Path::default();
            match mark.place {
                Place::Xs(from, to) => {
                    if let (Some(a), Some(b)) = (frame.x.clamped(from), frame.x.clamped(to)) {
                        path.rect(a.min(b), 0.0, (b - a).abs(), frame.height);
                    }
                }
                Place::Ys(from, to) => {
                    if let (Some(a), Some(b)) = (frame.y.clamped(from), frame.y.clamped(to)) {
                        path.rect(0.0, a.min(b), frame.width, (b - a).abs());
                    }
                }
                Place::X(_) | Place::Y(_) => continue,
            }
            canvas.open(mark.color);
            canvas.path("b", &path);
            canvas.close();
        }
    }

    /// Lines of annotations and all their labels, above the series. A label
    /// that finds no free place goes to the notes.
    fn annotations(&self, canvas: &mut Canvas, area: Area, frame: &Frame, notes: &mut Vec<String>) {
        let mut taken: Vec<[f64; 4]> = Vec::new();
        for mark in &self.marks {
            let at = match mark.place {
                Place::X(at) => frame.x.inside(at),
                Place::Y(at) => frame.y.inside(at),
                Place::Xs(from, _) => frame.x.clamped(from),
                Place::Ys(_, to) => frame.y.clamped(to),
            };
            let Some(at) = at else {
                notes.push(format!(
                    "{} lies outside the axes.",
                    data::or(&mark.label, "A mark")
                ));
                continue;
            };
            canvas.open(mark.color);
            match mark.place {
                Place::X(_) => canvas.line(
                    "r",
                    (area.left + at, area.top),
                    (area.left + at, area.top + area.height),
                ),
                Place::Y(_) => canvas.line(
                    "r",
                    (area.left, area.top + at),
                    (area.left + area.width, area.top + at),
                ),
                Place::Xs(..) | Place::Ys(..) => {}
            }
            canvas.close();
            if mark.label.is_empty() {
                continue;
            }
            let width = text::width(&mark.label, 11.0);
            let spot = spots(mark.place, at, area, width).into_iter().find(|spot| {
                spot[0] >= area.left
                    && spot[2] <= area.left + area.width
                    && !taken.iter().any(|other| overlap(spot, other))
            });
            match spot {
                Some(spot) => {
                    canvas.text(spot[0], spot[3] - 3.0, "k halo", &mark.label);
                    taken.push(spot);
                }
                None => notes.push(format!("Marked without a label: {}.", mark.label)),
            }
        }
    }

    /// The legend: an entry per named series, in as many rows as needed.
    /// Returns where the chart may go on.
    fn legend(&self, canvas: &mut Canvas, top: f64) -> f64 {
        const MOST: usize = 24;
        let named: Vec<(usize, &Series)> = self
            .series
            .iter()
            .enumerate()
            .filter(|(_, one)| !one.name.is_empty())
            .collect();
        if named.len() < 2 {
            return top;
        }
        let (mut x, mut y) = (2.0, top + 14.0);
        let looks = self.looks();
        let hidden = named.len().saturating_sub(MOST);
        for (index, one) in named.into_iter().take(MOST) {
            let label = text::fit(&one.name, 12.0, 260.0);
            let width = 26.0 + text::width(&label, 12.0) + 16.0;
            if x + width > self.width && x > 2.0 {
                (x, y) = (2.0, y + 18.0);
            }
            canvas.open(looks[index].color);
            marks::swatch(canvas, one, looks[index], (x, y - 4.0));
            canvas.close();
            let title = if label == one.name { "" } else { &one.name };
            canvas.titled_text(x + 26.0, y, "", &label, title);
            x += width;
        }
        if hidden > 0 {
            canvas.text(2.0, y + 18.0, "k", &format!("and {hidden} more"));
            y += 18.0;
        }
        y + 6.0
    }
}

/// Places for a label, best first: left, top, right, bottom.
fn spots(place: Place, at: f64, area: Area, width: f64) -> Vec<[f64; 4]> {
    let spot = |x: f64, y: f64| [x, y, x + width, y + 14.0];
    match place {
        Place::X(_) | Place::Xs(..) => {
            let x = area.left + at;
            let rows = (0..4).map(|row| area.top + 2.0 + 15.0 * f64::from(row));
            rows.flat_map(|y| [spot(x + 4.0, y), spot(x - width - 4.0, y)])
                .collect()
        }
        Place::Y(_) | Place::Ys(..) => {
            let y = area.top + at;
            let (near, far) = (area.left + 6.0, area.left + area.width - width - 6.0);
            let above = if y - 16.0 >= area.top - 4.0 {
                y - 16.0
            } else {
                y + 2.0
            };
            [(far, above), (near, above), (far, y + 2.0), (near, y + 2.0)]
                .into_iter()
                .map(|(x, y)| spot(x, y))
                .collect()
        }
    }
}

/// Whether two boxes touch.
fn overlap(a: &[f64; 4], b: &[f64; 4]) -> bool {
    a[0] < b[2] + 4.0 && b[0] < a[2] + 4.0 && a[1] < b[3] && b[1] < a[3]
}

/// Draws a title in at most two lines; returns where the picture may go on.
pub(super) fn head(canvas: &mut Canvas, title: &str, width: f64) -> f64 {
    let lines = text::wrap(title, 14.0, width - 4.0, 2);
    for (index, line) in lines.iter().enumerate() {
        canvas.text(2.0, 14.0 + 18.0 * index as f64, "t", line);
    }
    2.0 + 18.0 * lines.len() as f64
}

/// Says that there is nothing to draw.
pub(super) fn no_data(canvas: &mut Canvas, top: f64, width: f64, height: f64) {
    let room = (height - top - 24.0).max(20.0);
    canvas.rect("g", "", [2.0, top + 8.0, width - 4.0, room], "");
    canvas.text(width / 2.0, top + 12.0 + room / 2.0, "h m", "no data");
}

/// Extends a linear y axis to its next marks, a log one a little.
fn rounded(axis: &Axis, (low, high): (f64, f64), height: f64) -> (f64, f64) {
    match axis.kind {
        Kind::Log => log_padded(low, high),
        Kind::Categories(_) => (low, high),
        Kind::Linear => {
            let want = (height / 60.0).clamp(2.0, 8.0) as usize;
            let step = ticks::step(&axis.unit, high - low, want);
            let ends = (
                (low / step + 1e-9).floor() * step,
                (high / step - 1e-9).ceil() * step,
            );
            let sound = step > 0.0 && ends.0.is_finite() && ends.1.is_finite() && ends.0 < ends.1;
            if sound { ends } else { (low, high) }
        }
    }
}

/// Gives points at the ends of an x axis some air; what has a width of its
/// own needs none.
fn padded(axis: &Axis, series: &[Series], (low, high): (f64, f64)) -> (f64, f64) {
    let airy = series
        .iter()
        .any(|one| matches!(one.data, Data::Scatter(_) | Data::Errors(_)));
    match (&axis.kind, airy) {
        (Kind::Categories(_), _) => (low, high),
        (Kind::Log, true) => log_padded(low, high),
        (Kind::Linear, true) => {
            let air = (high - low) * 0.015;
            let start = if low == 0.0 { 0.0 } else { low - air };
            (start, high + air)
        }
        (_, false) => (low, high),
    }
}

/// A log axis with a little air at both ends.
fn log_padded(low: f64, high: f64) -> (f64, f64) {
    let air = ((high.ln() - low.ln()) * 0.02).max(0.08).exp();
    ((low / air).max(1e-300), (high * air).min(1e300))
}
