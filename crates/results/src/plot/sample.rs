//! Thinning: what a picture of some hundred pixels can show of a million
//! values.

/// Width of the columns that are thinned to, in pixels.
const COLUMN: f64 = 2.0;

/// Keeps of every column of two pixels the first, the least, the greatest and
/// the last point (M4, Jugel et al., VLDB 2014), so that lines drawn through
/// them look like lines through all.
///
/// Points are in pixels with ascending x; `None` is a gap. What lies outside
/// `0..width` falls into one column on either side. Returns whether something
/// was left out.
pub(super) fn thin(
    points: impl Iterator<Item = Option<(f64, f64)>>,
    width: f64,
    count: usize,
) -> (Vec<Option<(f64, f64)>>, bool) {
    let columns = (width / COLUMN).ceil().max(1.0);
    if count as f64 <= columns * 4.0 {
        return (points.collect(), false);
    }
    let mut out = Vec::new();
    let mut column = Column::default();
    for point in points {
        if let Some((x, _)) = point {
            let index = (x / COLUMN).floor().clamp(-1.0, columns) as i64;
            if column.index != Some(index) && !column.is_empty() {
                column.flush(&mut out);
            }
            column.index = Some(index);
        }
        column.push(point);
    }
    column.flush(&mut out);
    (out, true)
}

/// The points of one column so far.
#[derive(Default)]
struct Column {
    index: Option<i64>,
    first: Option<(f64, f64)>,
    /// Position of arrival, point.
    least: Option<(u64, (f64, f64))>,
    greatest: Option<(u64, (f64, f64))>,
    last: Option<(u64, (f64, f64))>,
    count: u64,
    gap_at_end: bool,
    gap_at_start: bool,
}

impl Column {
    fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    fn push(&mut self, point: Option<(f64, f64)>) {
        let Some(point) = point else {
            self.gap_at_end = true;
            self.gap_at_start |= self.is_empty();
            return;
        };
        self.gap_at_end = false;
        let here = (self.count, point);
        self.count += 1;
        self.first.get_or_insert(point);
        if self.least.is_none_or(|(_, least)| point.1 < least.1) {
            self.least = Some(here);
        }
        if self
            .greatest
            .is_none_or(|(_, greatest)| point.1 > greatest.1)
        {
            self.greatest = Some(here);
        }
        self.last = Some(here);
    }

    /// Writes the points that stand for the column, in their order.
    fn flush(&mut self, out: &mut Vec<Option<(f64, f64)>>) {
        if self.gap_at_start {
            out.push(None);
        }
        let first = self.first.map(|point| (0, point));
        let all = [first, self.least, self.greatest, self.last].into_iter();
        let mut kept: Vec<(u64, (f64, f64))> = all.flatten().collect();
        kept.sort_by_key(|(position, _)| *position);
        kept.dedup_by_key(|(position, _)| *position);
        out.extend(kept.into_iter().map(|(_, point)| Some(point)));
        if self.gap_at_end {
            out.push(None);
        }
        *self = Column::default();
    }
}

/// Counts of points in cells of a grid, row by row.
pub(super) struct Density {
    /// Cells in a row.
    pub columns: usize,
    /// Count per cell, row by row from the top.
    pub counts: Vec<u32>,
    /// Width and height of a cell in pixels.
    pub cell: f64,
}

impl Density {
    /// Counts points (in pixels, inside `0..width`, `0..height`).
    pub(super) fn of(
        points: impl Iterator<Item = (f64, f64)>,
        (width, height): (f64, f64),
        cell: f64,
    ) -> Self {
        let columns = (width / cell).ceil().max(1.0) as usize;
        let rows = (height / cell).ceil().max(1.0) as usize;
        let mut counts = vec![0_u32; columns * rows];
        for (x, y) in points {
            let column = ((x / cell).floor().max(0.0) as usize).min(columns - 1);
            let row = ((y / cell).floor().max(0.0) as usize).min(rows - 1);
            let count = &mut counts[row * columns + column];
            *count = count.saturating_add(1);
        }
        Density {
            columns,
            counts,
            cell,
        }
    }

    /// Calls `draw(x, y, width, level)` for each run of cells of one level in
    /// a row; levels go from 1 to `levels` by the logarithm of the count, and
    /// `y` is the middle of the row.
    pub(super) fn runs(&self, levels: usize, mut draw: impl FnMut(f64, f64, f64, usize)) {
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let level = |count: u32| match count {
            0 => 0,
            n => {
                let share = f64::from(n).ln() / f64::from(most).ln().max(1e-9);
                1 + ((levels - 1) as f64 * share.clamp(0.0, 1.0)).round() as usize
            }
        };
        for (row, counts) in self.counts.chunks(self.columns).enumerate() {
            let y = (row as f64 + 0.5) * self.cell;
            let mut from = 0;
            for run in counts.chunk_by(|a, b| level(*a) == level(*b)) {
                let here = level(run.first().copied().unwrap_or(0));
                if here > 0 {
                    let (x, width) = (from as f64 * self.cell, run.len() as f64 * self.cell);
                    draw(x, y, width, here);
                }
                from += run.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_stay_as_they_are() {
        let points = [Some((0.0, 1.0)), None, Some((5.0, 2.0))];
        let (kept, thinned) = thin(points.into_iter(), 100.0, 3);
        assert_eq!(kept, points);
        assert!(!thinned);
    }

    #[test]
    fn a_column_keeps_its_ends_and_its_extremes() {
        let wave = |i: u32| (f64::from(i) * 0.001, f64::from((i * 7919) % 1009));
        let n = 100_000;
        let (kept, thinned) = thin((0..n).map(|i| Some(wave(i))), 100.0, n as usize);
        assert!(thinned);
        assert!(kept.len() <= 51 * 4, "{}", kept.len());
        let all: Vec<(f64, f64)> = kept.iter().copied().flatten().collect();
        assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert!(all.iter().any(|p| p.1 == 0.0) && all.iter().any(|p| p.1 == 1008.0));
        assert_eq!(all.first(), Some(&wave(0)));
        assert_eq!(all.last(), Some(&wave(n - 1)));
    }

    #[test]
    fn gaps_stay_bounded_and_gaps_of_a_column_stay_gaps() {
        let n = 100_000;
        let points = (0..n).map(|i| (i % 2 == 0).then_some((f64::from(i) * 0.001, 1.0)));
        let (kept, _) = thin(points, 100.0, n as usize);
        assert!(kept.len() < 51 * 6, "{}", kept.len());
        let hole = (0..n).map(|i| {
            let x = f64::from(i) * 0.001;
            Some((x, 1.0)).filter(|_| !(20.0..40.0).contains(&x))
        });
        let (kept, _) = thin(hole, 100.0, n as usize);
        assert_eq!(kept.iter().filter(|point| point.is_none()).count(), 1);
    }

    #[test]
    fn every_point_is_counted_in_some_cell() {
        let points = (0..1000).map(|i| (f64::from(i) / 10.0, 50.0));
        let density = Density::of(points, (100.0, 50.0), 4.0);
        assert_eq!(density.counts.iter().sum::<u32>(), 1000);
        let mut covered = 0.0;
        density.runs(6, |_, _, width, level| {
            assert!((1..=6).contains(&level));
            covered += width;
        });
        assert_eq!(covered, 100.0);
    }
}
