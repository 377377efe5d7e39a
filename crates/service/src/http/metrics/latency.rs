//! How long requests take, by route. On the way of every request, so that
//! nothing here allocates once a route has been seen, and no two requests wait
//! for each other.

use super::samples::Samples;
use super::table::REQUEST_DURATION;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the classes of latency, in microseconds; a last class
/// without a bound follows. The longest wait for news is 30 s.
const BOUNDS_US: [u64; 16] = [
    50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 5_000_000, 30_000_000,
];

const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Methods that are told apart; a client may make up any other.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"];

/// Routes that are told apart. They come from the router, so that there are no
/// more of them than a service has; the bound holds whatever is mounted.
const MOST_ROUTES: usize = 256;

/// The latencies of one service.
#[derive(Debug, Default)]
pub(super) struct Latencies(RwLock<BTreeMap<Box<str>, Arc<Route>>>);

/// One route: a histogram per method and class of status, made when needed.
#[derive(Debug, Default)]
struct Route([[std::sync::OnceLock<Histogram>; STATUS_CLASSES.len()]; METHODS.len() + 1]);

#[derive(Debug, Default)]
struct Histogram {
    classes: [AtomicU64; BOUNDS_US.len() + 1],
    total_ns: AtomicU64,
}

impl Latencies {
    /// Counts a request that was answered with this status.
    pub fn count(&self, method: &str, route: &str, status: u16, took: Duration) {
        let method = METHODS.iter().position(|known| *known == method);
        let class = usize::from(status / 100).clamp(1, STATUS_CLASSES.len()) - 1;
        self.route(route).0[method.unwrap_or(METHODS.len())][class]
            .get_or_init(Histogram::default)
            .observe(took);
    }

    fn route(&self, route: &str) -> Arc<Route> {
        // A panic elsewhere does not make counts wrong.
        let known = self.0.read();
        if let Some(found) = known.get(route) {
            return Arc::clone(found);
        }
        drop(known);
        let mut known = self.0.write();
        let has_room = known.len() < MOST_ROUTES;
        let name = if has_room { route } else { "other" };
        Arc::clone(known.entry(name.into()).or_default())
    }

    /// What a scrape shows of them.
    pub fn observe(&self, samples: &mut Samples) {
        let known = self.0.read();
        for (name, route) in &*known {
            for (method, classes) in METHODS.into_iter().chain(["other"]).zip(&route.0) {
                for (status, histogram) in STATUS_CLASSES.iter().zip(classes) {
                    if let Some(histogram) = histogram.get() {
                        let (sum, buckets) = histogram.read();
                        samples.classes(&REQUEST_DURATION, &[method, name, status], sum, buckets);
                    }
                }
            }
        }
    }
}

impl Histogram {
    fn observe(&self, took: Duration) {
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let class = BOUNDS_US.partition_point(|bound| bound * 1_000 < ns);
        self.classes[class].fetch_add(1, Ordering::Relaxed);
        self.total_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// The sum in seconds, and the classes with their bounds in seconds.
    fn read(&self) -> (f64, Vec<(f64, u64)>) {
        let bounds = BOUNDS_US.iter().map(|bound| *bound as f64 / 1e6);
        let counts = self.classes.iter();
        let counts = counts.map(|count| count.load(Ordering::Relaxed));
        let sum = self.total_ns.load(Ordering::Relaxed) as f64 / 1e9;
        (sum, bounds.chain([f64::INFINITY]).zip(counts).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_the_class_below_it() {
        let histogram = Histogram::default();
        for us in [50, 51, 31_000_000] {
            histogram.observe(Duration::from_micros(us));
        }
        let (sum, buckets) = histogram.read();
        assert!((sum - 31.000_101).abs() < 1e-9, "{sum}");
        assert_eq!(buckets[..2], [(0.000_05, 1), (0.000_1, 1)]);
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, 1)));
    }

    #[test]
    fn made_up_methods_and_routes_do_not_grow_without_bound() {
        let latencies = Latencies::default();
        for index in 0..10_000_u32 {
            let (method, route) = (format!("M{index}"), format!("/r{index}"));
            latencies.count(&method, &route, 999, Duration::ZERO);
        }
        let known = latencies.0.read();
        assert!(known.len() <= MOST_ROUTES + 1, "{}", known.len());
        let other = &known["other"].0[METHODS.len()][4];
        assert!(other.get().unwrap().read().1[0].1 > 9_000);
    }
}
