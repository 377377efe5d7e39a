//! The name that was probably meant.

/// The candidate nearest to `name`, if one is near enough to be a slip of the
/// keyboard. The first of equally near ones wins.
pub(crate) fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    // A third of it wrong is a slip; more is another word.
    let limit = (name.chars().count() / 3).max(2);
    let near = |candidate: &&'a str| {
        let distance = distance(name, candidate);
        (distance <= limit && distance < candidate.chars().count())
            .then_some((distance, *candidate))
    };
    let best = candidates
        .iter()
        .filter_map(near)
        .min_by_key(|(distance, _)| *distance);
    // The beginning of a longer name is far from it and still what was meant.
    let begins = |candidate: &&&str| name.len() >= 3 && candidate.starts_with(name);
    best.map(|(_, candidate)| candidate)
        .or_else(|| candidates.iter().find(begins).copied())
}

/// ``, did you mean `x`?`` or, when nothing is near, the list of what may be.
pub(crate) fn hint(name: &str, candidates: &[&str]) -> String {
    if let Some(near) = nearest(name, candidates) {
        return format!(", did you mean `{near}`?");
    }
    match candidates {
        [] => ": expected no key here".to_owned(),
        [only] => format!(": expected `{only}`"),
        all => format!(": expected one of `{}`", all.join("`, `")),
    }
}

/// Letters to insert, delete, replace or swap with their neighbour (optimal
/// string alignment, without regard to ASCII case).
fn distance(a: &str, b: &str) -> usize {
    strsim::osa_distance(&a.to_ascii_lowercase(), &b.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keyboard_finds_the_name_that_was_meant() {
        let keys = ["policies", "clock", "speed", "seed", "tie"];
        let check = |name, expected| assert_eq!(nearest(name, &keys), expected, "{name}");
        check("polices", Some("policies"));
        check("Clock", Some("clock"));
        check("sede", Some("seed"));
        check("pol", Some("policies"));
        check("latency", None);
    }

    #[test]
    fn distances_count_swapped_neighbours_once() {
        assert_eq!(distance("sede", "seed"), 1);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
