//! Windows that are chosen: which is best, and which may be.

use crate::archive::{log, need};
use crate::look_alike::distance;
use crate::{line, load_text, secs, whole, window};
use gridrig_core::time::{NANOS_PER_SEC, SimDuration};
use gridrig_tracelab::load::TraceJob;
use gridrig_tracelab::reduce::{RankedWindow, Unrankable, WindowRanking, rank_windows};
use gridrig_tracelab::spec::{WindowChoice, WorkloadSpec};
use proptest::prelude::*;

const DAY: u64 = 86_400;

fn days(days: u64) -> SimDuration {
    secs(days * DAY)
}

fn jobs(lines: &[(u64, u64, i64)]) -> Vec<TraceJob> {
    let lines = lines.iter().zip(1..);
    let text: String = lines
        .map(|((submit, run, processors), id)| {
            line(
                id,
                &submit.to_string(),
                &run.to_string(),
                *processors,
                -1,
                1,
            )
        })
        .collect();
    load_text(text).unwrap().jobs
}

/// The same 24 jobs every day, except for what `change` makes of a day.
fn daily(count: u64, change: impl Fn(u64, &mut (u64, u64, i64))) -> Vec<TraceJob> {
    let mut lines = Vec::new();
    for day in 0..count {
        for hour in 0..24u64 {
            let run = 60 * (1 + hour % 7);
            let mut job = (
                day * DAY + hour * 3600 + 60 * (hour % 5),
                run,
                1 << (hour % 4),
            );
            change(day, &mut job);
            lines.push(job);
        }
    }
    jobs(&lines)
}

fn ranked(jobs: &[TraceJob], choice: &WindowChoice) -> WindowRanking {
    rank_windows(jobs, choice).unwrap()
}

fn starts(ranking: &WindowRanking) -> Vec<u64> {
    let starts = ranking.windows.iter().map(|w| w.start.as_nanos());
    starts.map(|start| start / NANOS_PER_SEC / DAY).collect()
}

fn without_skips(length: SimDuration) -> WindowChoice {
    WindowChoice {
        skip_start: Some(SimDuration::ZERO),
        skip_end: Some(SimDuration::ZERO),
        ..WindowChoice::of_length(length)
    }
}

#[test]
fn a_day_that_is_like_all_others_is_before_one_that_is_not() {
    let odd = daily(21, |day, job| {
        if day == 7 {
            job.1 *= 50;
            job.2 *= 8;
        }
    });
    let ranking = ranked(&odd, &without_skips(days(1)));
    let order = starts(&ranking);
    assert_eq!(order.len(), 20);
    assert_eq!(*order.last().unwrap(), 7);
    let (best, worst) = (ranking.windows[0], ranking.windows[19]);
    assert!(best.score < worst.score);
    assert_eq!(worst.ranks[0], 20.0);
    assert!(worst.distances[4] > 0.5, "{worst:?}");
    assert!(best.distances[0] < worst.distances[0]);
}

#[test]
fn no_component_decides_alone() {
    // Day 3 is a little off everywhere, day 9 far off in run times only. The
    // sum of distances would put one of them last by the width of its scale;
    // ranks put the one last that is behind in more components.
    let trace = daily(16, |day, job| match day {
        3 => {
            job.0 = day * DAY + (job.0 % DAY) / 2;
            job.2 = 2;
            job.1 += 30;
        }
        9 => job.1 = 5000,
        _ => {}
    });
    let ranking = ranked(&trace, &without_skips(days(1)));
    assert_eq!(*starts(&ranking).last().unwrap(), 3);
}

#[test]
fn equal_windows_go_by_their_start_and_share_their_ranks() {
    let ranking = ranked(&daily(16, |_, _| {}), &without_skips(days(2)));
    let order = starts(&ranking);
    let middle = &order[..order.len() - 1];
    assert!(middle.windows(2).all(|pair| pair[0] < pair[1]), "{order:?}");
    assert_eq!(ranking.windows[0].ranks[0], ranking.windows[5].ranks[0]);
}

#[test]
fn an_end_whose_load_is_unlike_the_rest_is_left_out_by_rule() {
    let trace = daily(140, |day, job| {
        if !(10..130).contains(&day) {
            job.1 = 1;
        }
    });
    let ranking = ranked(&trace, &WindowChoice::of_length(days(7)));
    let steady = ranking.steady;
    assert_eq!(steady.skip_start, days(7));
    assert!(
        steady.skip_end >= days(7) && steady.skip_end < days(15),
        "{steady:?}"
    );
    let order = starts(&ranking);
    assert!(order.iter().all(|day| (7..=126).contains(day)), "{order:?}");
    // The second week is half warm-up, within the band, and ranked behind.
    assert!(order[0] >= 10);
}

#[test]
fn a_skip_that_is_given_is_taken_and_the_other_end_is_left_to_the_rule() {
    let trace = daily(140, |_, _| {});
    let choice = WindowChoice {
        skip_start: Some(days(30)),
        ..WindowChoice::of_length(days(7))
    };
    let ranking = ranked(&trace, &choice);
    assert_eq!(ranking.steady.start, days(30));
    assert_eq!(ranking.steady.skip_end, SimDuration::ZERO);
    assert_eq!(starts(&ranking).iter().min(), Some(&30));
    assert_eq!(ranking.steady_jobs, 110 * 24);
}

#[test]
fn what_cannot_be_ranked_is_said() {
    let trace = daily(20, |_, _| {});
    let refused = |choice: &WindowChoice| rank_windows(&trace, choice).unwrap_err();
    assert!(matches!(
        refused(&without_skips(days(30))),
        Unrankable::TooLong(steady) if steady < days(20)
    ));
    assert_eq!(refused(&without_skips(SimDuration::ZERO)), Unrankable::Zero);
    let fine = WindowChoice {
        step: SimDuration::from_millis(1),
        ..without_skips(days(1))
    };
    assert!(matches!(refused(&fine), Unrankable::TooMany(_)));
    let two = jobs(&[(0, 5, 1), (100 * DAY, 5, 1)]);
    assert_eq!(
        rank_windows(&two, &without_skips(days(1))).unwrap_err(),
        Unrankable::Empty
    );
    assert!(rank_windows(&[], &without_skips(days(1))).is_err());
}

#[test]
fn a_chosen_window_reduces_as_the_same_window_given() {
    let text: String = (0..400u32)
        .map(|i| {
            line(
                i,
                &(i * 4000).to_string(),
                &(i % 90).to_string(),
                1 + i64::from(i % 9),
                -1,
                1,
            )
        })
        .collect();
    let mut spec = whole();
    spec.choose = Some(WindowChoice::of_length(days(3)));
    let chosen = load_text(&text).unwrap().into_prepared(&spec, 0).unwrap();
    let best = chosen.reduction.ranking.as_ref().unwrap().best().unwrap();
    assert_eq!(chosen.reduction.window, Some(best));
    spec.choose = None;
    spec.window = Some(best);
    let given = load_text(&text).unwrap().into_prepared(&spec, 0).unwrap();
    assert_eq!(
        (&given.jobs, &given.reduction.steps),
        (&chosen.jobs, &chosen.reduction.steps)
    );
    assert_eq!(given.reduction.ranking, None);
}

#[test]
fn a_window_that_does_not_fit_and_one_both_given_and_chosen_are_refused() {
    let text = line(1, "0", "5", 1, 1, 1) + &line(2, "86400", "5", 1, 1, 1);
    let mut spec = whole();
    spec.choose = Some(WindowChoice::of_length(days(7)));
    let message = |spec: &WorkloadSpec| {
        let error = load_text(&text)
            .unwrap()
            .into_prepared(spec, 0)
            .unwrap_err();
        error.to_string()
    };
    assert!(message(&spec).starts_with(
        "t.swf: field window.length = \"7d\": expected a window that starts at a multiple of 1d and \
         fits the trace without warm-up and wrap-up, which is 21.00 h long"
    ));
    spec.window = Some(window(5, 5));
    assert_eq!(
        message(&spec),
        "t.swf: field window.start = \"5s\": expected a window given or chosen, not both"
    );
}

/// The distances of one window, the slow way.
fn slow(jobs: &[TraceJob], start: u64, length: u64) -> Option<[f64; 5]> {
    let inside: Vec<&TraceJob> = jobs
        .iter()
        .filter(|j| (start..start + length).contains(&j.submit.as_nanos()))
        .collect();
    if inside.len() < 2 {
        return None;
    }
    let gaps = |jobs: &[&TraceJob]| -> Vec<u64> {
        let pairs = jobs.windows(2);
        pairs
            .map(|p| (p[1].submit - p[0].submit).as_nanos())
            .collect()
    };
    let all: Vec<&TraceJob> = jobs.iter().collect();
    let of = |jobs: &[&TraceJob], what: fn(&TraceJob) -> u64| -> Vec<u64> {
        jobs.iter().map(|job| what(job)).collect()
    };
    let size: fn(&TraceJob) -> u64 = |job| job.processors.into();
    let run: fn(&TraceJob) -> u64 = |job| job.run_time.as_nanos();
    let work = |jobs: &[&TraceJob]| -> f64 {
        jobs.iter()
            .map(|j| j.run_time.as_secs_f64() * f64::from(j.processors))
            .sum()
    };
    let whole_s = (jobs.last()?.submit - jobs[0].submit).as_secs_f64() + 1e-9;
    let length_s = length as f64 / 1e9;
    let relative = |a: f64, b: f64| {
        if a.max(b) > 0.0 {
            1.0 - a.min(b) / a.max(b)
        } else {
            0.0
        }
    };
    Some([
        distance(of(&all, size), of(&inside, size)),
        distance(of(&all, run), of(&inside, run)),
        distance(gaps(&all), gaps(&inside)),
        relative(inside.len() as f64 / length_s, jobs.len() as f64 / whole_s),
        relative(work(&inside) / length_s, work(&all) / whole_s),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_sliding_window_finds_what_the_slow_way_finds(
        lines in prop::collection::vec((0u64..2000, 0u64..30, 1i64..9), 3..80),
        length in 1u64..1500,
        step in 1u64..700,
    ) {
        let jobs = jobs(&lines);
        let choice = WindowChoice { step: secs(step), ..without_skips(secs(length)) };
        let found: Vec<RankedWindow> = match rank_windows(&jobs, &choice) {
            Ok(ranking) => ranking.windows,
            Err(Unrankable::TooLong(_) | Unrankable::Empty) => Vec::new(),
            Err(other) => panic!("{other:?}"),
        };
        let (first, last) = (jobs[0].submit.as_nanos(), jobs[jobs.len() - 1].submit.as_nanos());
        let (length, step) = (length * NANOS_PER_SEC, step * NANOS_PER_SEC);
        let mut start = first.div_ceil(step) * step;
        let mut expected = 0;
        while start + length <= last + 1 {
            if let Some(distances) = slow(&jobs, start, length) {
                expected += 1;
                let window = found.iter().find(|w| w.start.as_nanos() == start);
                let window = window.expect("a window that the slow way has");
                for (got, wanted) in window.distances.iter().zip(distances) {
                    prop_assert!((got - wanted).abs() < 1e-9, "{:?} {:?}", window, distances);
                }
            }
            start += step;
        }
        prop_assert_eq!(found.len(), expected);
        prop_assert!(found.iter().all(|w| (0.0..=1.0).contains(&w.score)));
        prop_assert!(found.windows(2).all(|pair| pair[0].score <= pair[1].score));
    }
}

#[test]
fn every_log_of_the_archive_has_a_window_close_to_the_whole() {
    let Some(folder) = need() else { return };
    // The largest of each kind would take the test its seconds, not a proof.
    // Its day, and the largest of its distances in thousandths.
    for (name, day, apart) in [
        ("CTC-SP2-1996-3.1-cln", 101, 76),
        ("KTH-SP2-1996-2.1-cln", 177, 81),
        ("LLNL-Atlas-2006-2.1-cln", 184, 105),
        ("NASA-iPSC-1993-3.1-cln", 74, 169),
        ("SDSC-Par-1996-3.1-cln", 242, 142),
    ] {
        let ranking = ranked(&log(&folder, name).jobs, &WindowChoice::of_length(days(7)));
        let (best, last) = (
            ranking.windows[0],
            ranking.windows[ranking.windows.len() - 1],
        );
        let worst = best.distances.into_iter().fold(0.0, f64::max);
        let found = (starts(&ranking)[0], (worst * 1000.0).round());
        assert_eq!(found, (day, f64::from(apart)), "{name}: {best:?}");
        let sum = |w: &RankedWindow| w.distances.iter().sum::<f64>();
        assert!(sum(&best) < sum(&last) / 2.0, "{name}: {best:?} {last:?}");
    }
}

#[test]
fn the_week_of_the_paper_ranks_where_the_page_says() {
    let Some(folder) = need() else { return };
    let mut jobs = log(&folder, "CTC-SP2-1996-3.1-cln").jobs;
    jobs.retain(|job| job.processors <= 225);
    let ranking = ranked(&jobs, &WindowChoice::of_length(days(7)));
    let place = 1 + starts(&ranking).iter().position(|day| *day == 87).unwrap();
    let page = include_str!("../../../../docs/reduction.md");
    let told = format!("Among the {} weeks", ranking.considered());
    assert!(page.contains(&told), "{told}");
    let told = format!("the one from day 87 is the {place}th by its score");
    assert!(page.contains(&told), "{told}");
}
