//! The gamma distribution's cumulative distribution function.

/// Terms after which both expansions have converged for every shape that a
/// model may have.
const MAX_TERMS: u32 = 10_000;

const RELATIVE: f64 = 1e-14;

/// P(X <= x) for X of this shape and scale; both above 0.
#[must_use]
pub(super) fn cdf(x: f64, shape: f64, scale: f64) -> f64 {
    regularized(shape, x / scale)
}

/// The regularized lower incomplete gamma function P(a, x): its series left of
/// the bulk, the continued fraction of its complement right of it (Abramowitz
/// and Stegun 6.5.29 and 6.5.31, the latter by Lentz's method).
fn regularized(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let mut term = 1.0 / a;
        let mut sum = term;
        for n in 1..MAX_TERMS {
            term *= x / (a + f64::from(n));
            sum += term;
            if term < sum * RELATIVE {
                break;
            }
        }
        return (sum * front).min(1.0);
    }
    let mut b = x + 1.0 - a;
    let mut c = 1.0 / f64::MIN_POSITIVE;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for n in 1..MAX_TERMS {
        let n = f64::from(n);
        let an = -n * (n - a);
        b += 2.0;
        d = 1.0 / away_from_zero(an * d + b);
        c = away_from_zero(b + an / c);
        let step = d * c;
        fraction *= step;
        if (step - 1.0).abs() < RELATIVE {
            break;
        }
    }
    (1.0 - front * fraction).clamp(0.0, 1.0)
}

fn away_from_zero(value: f64) -> f64 {
    if value.abs() < f64::MIN_POSITIVE {
        f64::MIN_POSITIVE
    } else {
        value
    }
}

/// ln of the gamma function for x > 0: Stirling's series after shifting x up.
pub(super) fn ln_gamma(x: f64) -> f64 {
    let mut x = x;
    let mut shift = 0.0;
    while x < 12.0 {
        shift += x.ln();
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1_260.0 - square / 1_680.0))) / x;
    let half_ln_two_pi = 0.5 * std::f64::consts::TAU.ln();
    (x - 0.5) * x.ln() - x + half_ln_two_pi + series - shift
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
            let closed = (1.0f64 - b).powf(-a) * regularized(a, 13.0 * (1.0 - b) / b);
            assert!((moment / closed - 1.0).abs() < 1e-4, "{moment} {closed}");
            near(below, cdf(13.0, a, b));
        }
    }
}
