//! How like the job before it a user's job is, beyond what the user's mix
//! gives anyway.

use super::deal::closeness;
use super::{ALIKE, Likeness};
use std::collections::BTreeMap;

/// Jobs in order: submit time, user (numbered from 0) and cell.
pub(super) fn measure(
    jobs: impl Iterator<Item = (u64, usize, u64)> + Clone,
    users: usize,
    runs: u64,
) -> Likeness {
    let chance = by_chance(jobs.clone(), users, runs);
    let mut before: Vec<Option<(u64, u64)>> = vec![None; users];
    let mut found = [[0.0; 3]; 3];
    let mut expected = [[0.0; 3]; 3];
    let mut pairs = [0.0f64; 3];
    for (now, user, cell) in jobs {
        if let Some((last, other)) = before[user] {
            let close = closeness(Some(now.saturating_sub(last)));
            pairs[close] += 1.0;
            if let Some(kind) = kind(cell, other, runs) {
                found[close][kind] += 1.0;
            }
            for (sum, share) in expected[close].iter_mut().zip(chance[user]) {
                *sum += share;
            }
        }
        before[user] = Some((now, cell));
    }
    let mut likeness = Likeness::default();
    for close in 0..3 {
        let share = |shares: &[f64; 3]| shares.map(|sum| sum / f64::max(pairs[close], 1.0));
        let kept = beyond(share(&found[close]), share(&expected[close]));
        let [cell, alike, size] = kept.map(|share| (share * 1e3).round() / 1e3);
        likeness.same_cell.push(cell);
        likeness.alike.push(alike);
        likeness.same_size.push(size);
    }
    likeness
}

/// In what two jobs are alike.
fn kind(a: u64, b: u64, runs: u64) -> Option<usize> {
    match (a / runs == b / runs, (a % runs).abs_diff(b % runs)) {
        (true, 0) => Some(0),
        (true, apart) if apart <= ALIKE as u64 => Some(1),
        (true, _) => Some(2),
        (false, _) => None,
    }
}

/// Probabilities that two jobs of each user are alike by chance.
fn by_chance(
    jobs: impl Iterator<Item = (u64, usize, u64)>,
    users: usize,
    runs: u64,
) -> Vec<[f64; 3]> {
    let mut cells: Vec<BTreeMap<u64, f64>> = vec![BTreeMap::new(); users];
    for (_, user, cell) in jobs {
        *cells[user].entry(cell).or_default() += 1.0;
    }
    let of_user = |cells: &BTreeMap<u64, f64>| {
        let all: f64 = cells.values().sum();
        let mut shares = [0.0; 3];
        let mut sizes: BTreeMap<u64, f64> = BTreeMap::new();
        for (cell, count) in cells {
            let p = count / all;
            shares[0] += p * p;
            let in_size = |other: &u64| other / runs == cell / runs;
            let from = cell.saturating_sub(ALIKE as u64);
            let near: f64 = cells
                .range(from..=cell + ALIKE as u64)
                .filter(|(other, _)| *other != cell && in_size(other))
                .map(|(_, count)| count / all)
                .sum();
            shares[1] += p * near;
            *sizes.entry(cell / runs).or_default() += p;
        }
        let same_size: f64 = sizes.values().map(|p| p * p).sum();
        shares[2] = (same_size - shares[0] - shares[1]).max(0.0);
        shares
    };
    cells.iter().map(of_user).collect()
}

/// With which probabilities a job copies the cell before it, is picked among
/// those alike, or among those of the same sizes, so that pairs come out as
/// found: each of these gives its own kind and, by chance, the closer ones.
fn beyond(found: [f64; 3], chance: [f64; 3]) -> [f64; 3] {
    let rest = 1.0 - chance.iter().sum::<f64>();
    if rest <= 1e-9 {
        return [0.0; 3];
    }
    let copied = (1.0 - (1.0 - found.iter().sum::<f64>()) / rest).clamp(0.0, 1.0);
    let fresh = 1.0 - copied;
    let share = |part: f64, of: f64| if of > 0.0 { part / of } else { 0.0 };
    let all = chance.iter().sum::<f64>();
    let in_size = share(chance[2], all);
    let size = match in_size > 0.0 {
        true => ((found[2] - fresh * chance[2]) / in_size).clamp(0.0, copied),
        false => 0.0,
    };
    let in_alike = share(chance[1], chance[0] + chance[1]);
    let alike = match in_alike > 0.0 {
        true => {
            let others = fresh * chance[1] + size * share(chance[1], all);
            ((found[1] - others) / in_alike).clamp(0.0, copied - size)
        }
        false => 0.0,
    };
    [copied - size - alike, alike, size]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_is_beyond_what_the_mix_gives() {
        // Copies half of the time, else any of four cells of two sizes.
        let chance = [0.25, 0.25, 0.0];
        let found = [0.5 + 0.125, 0.125, 0.0];
        let kept = beyond(found, chance);
        assert!(
            (kept[0] - 0.5).abs() < 1e-9 && kept[1].abs() < 1e-9,
            "{kept:?}"
        );
        // Nothing beyond chance.
        assert!(
            beyond(chance, chance)
                .iter()
                .all(|share| share.abs() < 1e-9)
        );
    }
}
