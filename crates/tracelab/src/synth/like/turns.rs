//! Whose job comes next.
//!
//! Who has just submitted submits again: after a second more likely than after
//! an hour, and more likely in the middle of a batch than after a single job.
//! Users stand in a list, the last one to submit first (the stack of Mattson,
//! Gecsei, Slutz and Traiger, IBM Systems Journal 9, 1970). It is gone through
//! from the top; each user takes the job with the odds that place, the time
//! since and the jobs in a row say, else a new turn begins with somebody drawn
//! from those who have jobs left.

use super::BATCH_WINDOW_S;
use std::collections::BTreeMap;

/// Users that are remembered.
pub(super) const DEPTH: usize = 16;

/// Classes of places in the list: 1, 2, 3 and 4, 5 to 8, 9 to 16.
pub(super) const PLACES: usize = 5;

/// Classes of jobs in a row, each at most a batch's window after the one
/// before: 1, 2, 3 and 4, 5 to 8, 9 to 32, 33 to 128, more.
pub(super) const ROWS: usize = 7;

/// Classes of time since the user's last job: below 1 s, 2 s, 4 s ... 2^17 s.
pub(super) const AGES: usize = 18;

/// A user in the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Recent<U> {
    pub(super) user: U,
    pub(super) last: u64,
    /// Jobs in a row.
    pub(super) row: u64,
}

/// The list of users, the last one to submit first.
#[derive(Clone, Debug)]
pub(super) struct Recents<U>(Vec<Recent<U>>);

impl<U: Copy + PartialEq> Recents<U> {
    pub(super) fn new() -> Self {
        Recents(Vec::with_capacity(DEPTH + 1))
    }

    /// Those who may go on now, with their place and the class of their odds.
    pub(super) fn at(&self, now: u64) -> impl Iterator<Item = (usize, Recent<U>, usize)> {
        self.0
            .iter()
            .enumerate()
            .filter_map(move |(place, recent)| {
                let class = class(place, recent, now)?;
                Some((place, *recent, class))
            })
    }

    pub(super) fn find(&self, user: U) -> Option<usize> {
        self.0.iter().position(|recent| recent.user == user)
    }

    /// A user submits: the one at a place of the list, or another one. Returns
    /// the time since their last job, where it is known.
    pub(super) fn submit(&mut self, place: Option<usize>, user: U, now: u64) -> Option<u64> {
        let before = place.map(|place| self.0.remove(place));
        let age = before.map(|before| now.saturating_sub(before.last));
        let row = match before {
            Some(before) if age <= Some(BATCH_WINDOW_S) => before.row + 1,
            _ => 1,
        };
        self.0.insert(
            0,
            Recent {
                user,
                last: now,
                row,
            },
        );
        self.0.truncate(DEPTH);
        age
    }
}

/// The class of the odds, `None` past the longest time that counts.
fn class<U>(place: usize, recent: &Recent<U>, now: u64) -> Option<usize> {
    let age = age_class(now.saturating_sub(recent.last));
    if age >= AGES {
        return None;
    }
    let place = ((place + 1).next_power_of_two().ilog2() as usize).min(PLACES - 1);
    let row = match recent.row {
        0..=8 => recent.row.max(1).next_power_of_two().ilog2() as usize,
        9..=32 => 4,
        33..=128 => 5,
        _ => 6,
    };
    Some((place * ROWS + row) * AGES + age)
}

/// 0 for less than a second, 1 for less than 2 s, and so on by powers of two.
fn age_class(age: u64) -> usize {
    age.checked_ilog2().map_or(0, |octave| octave as usize + 1)
}

/// What is known of who goes on.
pub(super) struct Turns {
    /// Probabilities by class.
    pub(super) odds: Vec<f64>,
    /// For each user: how many turns they began, and how much likelier than
    /// others they go on, as a logarithm of odds.
    pub(super) of_user: Vec<(u64, f64)>,
}

/// Jobs in order: submit time and user, users numbered from 0.
pub(super) fn measure(jobs: &[(u64, usize)], users: usize) -> Turns {
    let mut recents = Recents::<usize>::new();
    let mut all = vec![(0u64, 0u64); PLACES * ROWS * AGES];
    let mut trials: Vec<BTreeMap<usize, (u64, u64)>> = vec![BTreeMap::new(); users];
    let mut turns = vec![0u64; users];
    for (now, user) in jobs {
        let mut found = None;
        for (place, recent, class) in recents.at(*now) {
            let goes_on = recent.user == *user;
            for count in [
                &mut all[class],
                trials[recent.user].entry(class).or_default(),
            ] {
                count.0 += u64::from(goes_on);
                count.1 += 1;
            }
            if goes_on {
                found = Some(place);
                break;
            }
        }
        turns[*user] += u64::from(found.is_none());
        let known = found.or_else(|| recents.find(*user));
        recents.submit(known, *user, *now);
    }
    let odds: Vec<f64> = all
        .iter()
        .map(|(yes, of)| ((*yes as f64 / (*of).max(1) as f64) * 1e4).round() / 1e4)
        .collect();
    let of_user = trials
        .iter()
        .zip(turns)
        .map(|(trials, turns)| (turns, stay(trials, &odds)))
        .collect();
    Turns { odds, of_user }
}

/// How much likelier some users go on than all of them: a shift of the
/// logarithms of the odds, drawn towards 0 where little is known.
pub(super) fn stay(trials: &BTreeMap<usize, (u64, u64)>, odds: &[f64]) -> f64 {
    /// Trials that everybody has had on top, at odds of one half.
    const PRIOR: f64 = 2.0;
    let mut shift: f64 = 0.0;
    for _ in 0..12 {
        let (mut slope, mut curve) = (-PRIOR * shift, PRIOR);
        for (class, (yes, of)) in trials {
            let p = shifted(odds[*class], shift);
            slope += *yes as f64 - *of as f64 * p;
            curve += *of as f64 * p * (1.0 - p);
        }
        let step = (slope / curve).clamp(-1.0, 1.0);
        shift = (shift + step).clamp(-4.0, 4.0);
        if step.abs() < 1e-4 {
            break;
        }
    }
    (shift * 1e2).round() / 1e2
}

/// A probability whose odds are moved by a factor of e^shift.
pub(super) fn shifted(p: f64, shift: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return p;
    }
    let odds = p / (1.0 - p) * shift.exp();
    odds / (1.0 + odds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_submits_in_rows_goes_on_in_rows() {
        // Two users in turn, each with rows of ten jobs, one every two seconds,
        // and an hour between rows.
        let jobs: Vec<(u64, usize)> = (0..2_000u64)
            .map(|i| (i / 10 * 3_600 + i % 10 * 2, (i / 10 % 2) as usize))
            .collect();
        let turns = measure(&jobs, 2);
        let odds =
            |place: usize, row: usize, age: usize| turns.odds[(place * ROWS + row) * AGES + age];
        // Two seconds after the first job of a row: always; after rows of nine
        // and more, the tenth, it is not 2 s but an hour to the next job, and
        // then it is the other one's turn, who stands second.
        assert!((odds(0, 0, 2) - 1.0).abs() < 1e-9);
        assert!(odds(0, 4, 12).abs() < 1e-9);
        assert!((odds(1, 4, 13) - 1.0).abs() < 1e-9);
        // Everybody goes on alike, and began once.
        assert_eq!(turns.of_user.iter().map(|user| user.0).sum::<u64>(), 2);
        assert!(
            turns.of_user.iter().all(|user| user.1.abs() < 0.2),
            "{:?}",
            turns.of_user
        );
    }

    #[test]
    fn a_user_who_stays_longer_than_others_is_told_by_the_odds() {
        let odds = vec![0.5; 4];
        let trials = BTreeMap::from([(1, (900u64, 1_000u64))]);
        let shift = stay(&trials, &odds);
        assert!((shifted(0.5, shift) - 0.9).abs() < 0.01, "{shift}");
        assert_eq!(shifted(0.0, shift), 0.0);
    }
}
