//! What models take of the gamma distribution.

use statrs::function::gamma::gamma_lr;

/// P(X <= x) for X of this shape and scale; both above 0.
pub(super) fn cdf(x: f64, shape: f64, scale: f64) -> f64 {
    gamma_lr(shape, x / scale)
}

/// E(e^X; X <= limit) and P(X <= limit) for X of this shape and scale: what
/// the mean of a duration takes that is drawn as the exponential of X, redrawn
/// above the limit.
pub(super) fn exponential_moment(shape: f64, scale: f64, limit: f64) -> (f64, f64) {
    /// Fine enough for a relative error of some hundred-thousandths.
    const STEPS: u32 = 500;
    let width = limit / f64::from(STEPS);
    let mut moment = 0.0;
    let mut below = 0.0;
    for step in 1..=STEPS {
        let x = width * f64::from(step);
        let upto = cdf(x, shape, scale);
        moment += (upto - below) * (x - width / 2.0).exp();
        below = upto;
    }
    (moment, below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() <= 1e-10 * expected.abs().max(1e-3),
            "{value} is not {expected}"
        );
    }

    #[test]
    fn the_distribution_function_is_that_of_scipy() {
        // scipy.stats.gamma.cdf(x, shape, scale=scale)
        near(cdf(1.0, 1.0, 1.0), 1.0 - (-1.0f64).exp());
        near(cdf(10.0, 312.0, 0.03), 0.884_940_159_988_144_1);
        near(cdf(3.0, 4.2, 0.94), 0.355_224_970_162_977_4);
        near(cdf(13.0, 10.460_481_75, 0.4871), 0.999_883_452_705_932);
        near(cdf(0.2, 0.5, 2.0), 0.345_279_153_981_423_2);
    }

    #[test]
    fn the_exponential_moment_is_that_of_the_closed_form() {
        // E(e^X; X <= t) = (1 - b)^-a P(a, t (1 - b) / b) for b < 1.
        for (a, b) in [(10.4605, 0.4871), (6.355, 0.8531), (639.1, 0.0156)] {
            let (moment, below) = exponential_moment(a, b, 13.0);
            let closed = (1.0f64 - b).powf(-a) * gamma_lr(a, 13.0 * (1.0 - b) / b);
            assert!((moment / closed - 1.0).abs() < 1e-4, "{moment} {closed}");
            near(below, cdf(13.0, a, b));
        }
    }
}
