//! Rows of jobs that a program submits by the clock: one every second and a
//! half for ten minutes.
//!
//! A cascade of halvings, which draws anew at each halving, cannot keep a rate
//! for long. So the rows with most jobs are listed, each by the minute in which
//! it begins, its jobs and how long it lasts, and everything else about arrivals
//! is measured on the jobs that are left.

use super::stretch::{DAY, MINUTE, Span};
use crate::synth::unit::unit;
use rand::rngs::ChaCha8Rng;

/// A row has so many jobs at least.
const LEAST: usize = 32;

/// No row is slower than a job in so many seconds.
const SLOWEST: f64 = 200.0;

/// How far a job may be from its place: so many seconds and so many steps of
/// its row.
const OFF_SECONDS: f64 = 2.0;
const OFF_STEPS: f64 = 3.0;

const DAY_MINUTES: u64 = 24 * 60;

/// Jobs at even distances.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    /// Of its first job.
    pub(super) at: u64,
    pub(super) jobs: u64,
    /// Seconds from the first to the last one.
    pub(super) length: u64,
}

/// The rows with most jobs in order, and the submit times that belong to none.
pub(super) fn find(submits: &[u64], most: usize) -> (Vec<Row>, Vec<u64>) {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    while from + LEAST <= submits.len() {
        let jobs = reach(&submits[from..]);
        if jobs >= LEAST {
            found.push((from, jobs));
            from += jobs;
        } else {
            from += (jobs / 2).max(1);
        }
    }
    found.sort_by_key(|(from, jobs)| (std::cmp::Reverse(*jobs), *from));
    found.truncate(most);
    found.sort_unstable();
    let mut rest = Vec::with_capacity(submits.len());
    let mut rows = Vec::with_capacity(found.len());
    let mut done = 0;
    for (from, jobs) in found {
        rest.extend_from_slice(&submits[done..from]);
        done = from + jobs;
        rows.push(Row {
            at: submits[from],
            jobs: jobs as u64,
            length: submits[done - 1] - submits[from],
        });
    }
    rest.extend_from_slice(&submits[done..]);
    (rows, rest)
}

/// How many of the first submissions lie on one line: the steps that lead from
/// the first one past all others narrow down, until none is left (the swing
/// filter of Elmeleegy et al., PVLDB 2, 2009).
fn reach(submits: &[u64]) -> usize {
    let (mut least, mut most) = (0.0_f64, f64::INFINITY);
    for (count, at) in submits.iter().enumerate().skip(1) {
        let steps = count as f64;
        let since = (at - submits[0]) as f64;
        let step = since / steps;
        let off = OFF_SECONDS + OFF_STEPS * step;
        least = least.max((since - off) / steps);
        most = most.min((since + off) / steps);
        if least > most || step > SLOWEST {
            return count;
        }
    }
    submits.len()
}

/// As a model file has them: in threes the minutes since the beginning of the
/// first day, from the second row on since the row before; jobs; seconds.
pub(super) fn numbers(rows: &[Row], begin: u64) -> Vec<u64> {
    let mut last = 0;
    let mut numbers = Vec::with_capacity(3 * rows.len());
    for row in rows.iter().filter(|row| row.at >= begin) {
        let minute = (row.at - begin) / MINUTE;
        numbers.extend([minute - last, row.jobs, row.length]);
        last = minute;
    }
    numbers
}

/// The rows of a span, which take after those of the days of a source.
pub(super) struct Rows {
    /// In order: second of the first job, with its fraction.
    rows: Vec<(f64, Row)>,
    /// Those before have all been submitted.
    done: usize,
    /// Rows that have begun, with the jobs that were submitted.
    open: Vec<(f64, Row, u64)>,
    span: Span,
    shift_s: u64,
}

impl Rows {
    /// Rows by the numbers of a model; `places` has for each day of the span its
    /// day of the source. `scale` is what becomes of a job of the source.
    pub(super) fn new(
        numbers: &[u64],
        places: &[usize],
        span: Span,
        shift_s: u64,
        random: &mut ChaCha8Rng,
    ) -> Self {
        let mut minute = 0_u64;
        let of_source: Vec<Row> = numbers
            .chunks_exact(3)
            .map(|row| {
                minute = minute.saturating_add(row[0]);
                Row {
                    at: minute,
                    jobs: row[1],
                    length: row[2],
                }
            })
            .collect();
        let mut rows = Vec::new();
        for (day, place) in places.iter().enumerate() {
            let begin = *place as u64 * DAY_MINUTES;
            let first = of_source.partition_point(|row| row.at < begin);
            let begins = of_source[first..].iter();
            for row in begins.take_while(|row| row.at < begin + DAY_MINUTES) {
                let day = (span.first_day() + day as u64) * DAY_MINUTES;
                let at = (day + row.at - begin) * MINUTE;
                rows.push((at as f64 + unit(random) * MINUTE as f64, *row));
            }
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        Rows {
            rows,
            done: 0,
            open: Vec::new(),
            span,
            shift_s,
        }
    }

    /// The jobs of all rows.
    pub(super) fn jobs(&self) -> u64 {
        self.rows.iter().map(|(_, row)| row.jobs).sum()
    }

    /// Scales their jobs so that the sum of any number of rows is off by less
    /// than one.
    pub(super) fn scale(&mut self, factor: f64) {
        let mut sum = 0.5;
        for (_, row) in &mut self.rows {
            sum += row.jobs as f64 * factor;
            row.jobs = sum as u64;
            sum -= row.jobs as f64;
        }
        self.rows.retain(|(_, row)| row.jobs > 0);
    }

    /// The day of the next job of a row, from the Monday at or before time 0.
    pub(super) fn next_day(&self) -> Option<u64> {
        let open = self.open.iter().map(|(at, row, done)| (*at, *row, *done));
        let next = self.rows.get(self.done).map(|(at, row)| (*at, *row, 0));
        let second = |(at, row, done)| self.second(at, &row, done);
        open.chain(next).map(second).min().map(|at| at / DAY)
    }

    /// The submit times of a day, counted from time 0, in order.
    pub(super) fn of_day(&mut self, day: u64) -> Vec<u64> {
        let until = (day + 1) * DAY;
        while let Some((at, row)) = self.rows.get(self.done) {
            if self.second(*at, row, 0) >= until {
                break;
            }
            self.open.push((*at, *row, 0));
            self.done += 1;
        }
        let mut submits = Vec::new();
        let mut open = std::mem::take(&mut self.open);
        for (at, row, done) in &mut open {
            while *done < row.jobs {
                let second = self.second(*at, row, *done);
                if second >= until {
                    break;
                }
                submits.push(second - self.shift_s);
                *done += 1;
            }
        }
        open.retain(|(_, row, done)| *done < row.jobs);
        self.open = open;
        submits.sort_unstable();
        submits
    }

    /// The second of a job of a row, within the span.
    fn second(&self, at: f64, row: &Row, job: u64) -> u64 {
        let steps = row.jobs.saturating_sub(1).max(1) as f64;
        let second = (at + row.length as f64 * (job as f64 / steps)) as u64;
        second.clamp(self.span.from, self.span.until - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gridrig_core::rng;

    /// A job every 1.5 s for a minute, and others hours apart.
    fn submits() -> Vec<u64> {
        let row = (0..40).map(|i| 50_000 + i * 3 / 2);
        let others = [0, 9_000, 30_000, 49_000, 60_000, 86_399 + 9_000];
        let mut all: Vec<u64> = row.chain(others).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_row_is_found_and_the_rest_is_left() {
        let (rows, rest) = find(&submits(), 9);
        let row = Row {
            at: 50_000,
            jobs: 40,
            length: 58,
        };
        assert_eq!(rows, [row]);
        assert_eq!(rest, [0, 9_000, 30_000, 49_000, 60_000, 95_399]);
        assert_eq!(numbers(&rows, 0), [833, 40, 58]);
    }

    #[test]
    fn jobs_that_come_at_random_are_no_row() {
        let mut random = rng::stream(1, "test");
        let mut at = 0.0;
        let submits: Vec<u64> = (0..2_000)
            .map(|_| {
                at -= 30.0 * (1.0 - unit(&mut random)).ln() * 10_f64.powf(3.0 * unit(&mut random));
                at as u64
            })
            .collect();
        let (rows, rest) = find(&submits, 99);
        assert!(rest.len() >= 1_900, "{rows:?}");
    }

    #[test]
    fn a_row_goes_on_past_midnight_at_its_pace() {
        let span = Span::new(0, 3 * 86_400, 0);
        let mut random = rng::stream(1, "test");
        // From 23:50 on, 121 jobs in twenty minutes, on each of two days.
        let numbers = [1_430, 121, 1_200];
        let mut rows = Rows::new(&numbers, &[0, 0, 1], span, 0, &mut random);
        assert_eq!(rows.jobs(), 242);
        rows.scale(0.5);
        let mut all = Vec::new();
        while let Some(day) = rows.next_day() {
            let of_day = rows.of_day(day);
            assert!(of_day.iter().all(|at| at / 86_400 == day), "{of_day:?}");
            all.extend(of_day);
        }
        assert_eq!(all.len(), 121);
        assert!(all.is_sorted());
        let steps: Vec<u64> = all[..60].windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            steps.iter().all(|step| (20..=21).contains(step)),
            "{steps:?}"
        );
    }
}
