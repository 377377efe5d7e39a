//! Times of which some were cut off before they were over.

/// The share that lasts longer than a time, by the product-limit estimate of E. L.
/// Kaplan and P. Meier (*Nonparametric Estimation from Incomplete Observations*, 1958).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survival {
    /// Times at which some end, rising, and the share that lasts longer.
    pub steps: Vec<(f64, f64)>,
}

impl Survival {
    /// Of times, each with whether it was over then or cut off.
    pub fn of(mut times: Vec<(f64, bool)>) -> Self {
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut share, mut left) = (1.0, times.len());
        let mut steps = Vec::new();
        for together in times.chunk_by(|a, b| a.0 == b.0) {
            let over = together.iter().filter(|(_, over)| *over).count();
            if over > 0 {
                share *= (left - over) as f64 / left as f64;
                steps.push((together[0].0, share));
            }
            left -= together.len();
        }
        Survival { steps }
    }

    /// The first time that at most 1 - p last longer than; `None` if more last to the
    /// end of what was seen.
    pub fn quantile(&self, p: f64) -> Option<f64> {
        // What rounding alone can do to a product.
        const ROUNDING: f64 = 1e-12;
        let mut steps = self.steps.iter();
        let step = steps.find(|(_, share)| *share <= 1.0 - p + ROUNDING);
        step.map(|(time, _)| *time)
    }
}
