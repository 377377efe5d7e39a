//! Figures over time that stays small however long the run is.

use gridrig_core::time::{SimDuration, SimTime};

/// Rows of figures at instants on a grid. When it is full, every second row
/// goes and the grid doubles: the whole run is always there, evenly.
#[derive(Clone, Debug, Default)]
pub struct Series {
    width: usize,
    capacity: usize,
    step: SimDuration,
    times: Vec<SimTime>,
    /// Row after row, `width` figures each.
    figures: Vec<u32>,
    /// How often rows have gone.
    epoch: u32,
}

impl Series {
    /// A series of rows with so many figures; at first there is a row every
    /// `step`.
    pub fn new(width: usize, capacity: usize, step: SimDuration) -> Self {
        Series {
            width,
            capacity: capacity.max(4),
            step: step.max(SimDuration::from_nanos(1)),
            ..Series::default()
        }
    }

    /// The first instant of the grid after `at`.
    pub fn next_after(&self, at: SimTime) -> SimTime {
        let grid = at + SimDuration::from_nanos(1);
        grid.next_on_grid(SimDuration::ZERO, self.step)
    }

    /// Adds the figures at an instant after all others.
    pub fn push(&mut self, at: SimTime, row: impl Iterator<Item = u32>) {
        self.times.push(at);
        self.figures.extend(row.take(self.width));
        self.figures.resize(self.times.len() * self.width, 0);
        if self.times.len() > self.capacity {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        self.step = SimDuration::from_nanos(self.step.as_nanos().saturating_mul(2));
        self.epoch += 1;
        let width = self.width;
        let rows = std::mem::take(&mut self.times);
        let figures = std::mem::take(&mut self.figures);
        for (at, row) in rows
            .into_iter()
            .zip(figures.chunks(width.max(1)))
            .step_by(2)
        {
            self.times.push(at);
            self.figures.extend_from_slice(row);
        }
    }

    /// How often rows have gone: a reader that has seen another epoch has to
    /// read all of it again.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// The rows from this position on, each with its instant first, in
    /// seconds.
    pub fn rows(&self, from: usize) -> Vec<Vec<f64>> {
        let times = self.times.iter();
        let rows = times.zip(self.figures.chunks(self.width.max(1)));
        rows.skip(from)
            .map(|(at, row)| {
                let figures = row.iter().map(|figure| f64::from(*figure));
                std::iter::once(at.as_secs_f64()).chain(figures).collect()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_series_thins_out_and_keeps_its_first_row() {
        let mut series = Series::new(1, 8, SimDuration::from_secs(1));
        let mut at = SimTime::ZERO;
        for n in 0..100 {
            series.push(at, [n].into_iter());
            at = series.next_after(at);
            assert!(series.len() <= 8);
        }
        let rows = series.rows(0);
        assert_eq!(rows[0], [0.0, 0.0]);
        let steps: Vec<f64> = rows
            .windows(2)
            .map(|pair| pair[1][0] - pair[0][0])
            .collect();
        assert!(steps.windows(2).all(|pair| pair[0] == pair[1]), "{steps:?}");
        assert!(series.epoch() > 3);
        assert_eq!(series.rows(rows.len() - 1).len(), 1);
    }
}
