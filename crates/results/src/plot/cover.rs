//! How full the cells of a grid are.

/// How much of each cell of a grid boxes of one kind cover.
#[derive(Clone, Debug)]
pub struct Cover {
    columns: usize,
    /// What begins (and, negative, ends) to cover whole cells here.
    change: Vec<f64>,
    /// Partly covered cells.
    part: Vec<f64>,
}

impl Cover {
    /// A grid of so many columns and rows that nothing covers.
    pub fn new(columns: usize, rows: usize) -> Self {
        let cells = (columns + 1) * rows;
        Cover {
            columns,
            change: vec![0.0; cells],
            part: vec![0.0; cells],
        }
    }

    /// Adds a box from `from` to `to` (in columns) to a row.
    pub fn add(&mut self, row: usize, from: f64, to: f64, weight: f64) {
        let last = self.columns as f64;
        let (from, to) = (from.clamp(0.0, last), to.clamp(0.0, last));
        let base = row * (self.columns + 1);
        let (first, end) = (from.floor() as usize, to.floor() as usize);
        if first == end {
            self.part[base + first] += weight * (to - from);
            return;
        }
        self.part[base + first] += weight * (first as f64 + 1.0 - from);
        self.part[base + end] += weight * (to - end as f64);
        self.change[base + first + 1] += weight;
        self.change[base + end] -= weight;
    }

    /// The cover of every cell, row by row.
    pub fn cells(&self) -> Vec<Vec<f64>> {
        let width = self.columns + 1;
        let rows = self.change.chunks(width).zip(self.part.chunks(width));
        rows.map(|(change, part)| {
            let mut whole = 0.0;
            let cells = change.iter().zip(part).map(|(change, part)| {
                whole += change;
                whole + part
            });
            cells.take(self.columns).collect()
        })
        .collect()
    }
}
