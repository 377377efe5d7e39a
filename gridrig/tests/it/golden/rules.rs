//! How golden results are compared.

use super::changes::Changes;
use super::diff::{self, Difference};
use super::rows::{self, Run, Runs, Table};

const KEYS: &str = "[keys]\nevents = [\"job_id\", \"event\"]\n";

fn table<const N: usize>(columns: [&str; N], rows: &[[&str; N]]) -> Table {
    let mut table = Table::new(columns);
    table.rows = rows
        .iter()
        .map(|row| row.map(str::to_owned).to_vec())
        .collect();
    table
}

/// One run with a job table and a log.
fn golden() -> Runs {
    let jobs = table(
        ["job_id", "start_ns", "cluster"],
        &[["0", "5", "a1"], ["1", "", ""], ["2", "9", "a1"]],
    );
    let events = table(
        ["time_ns", "event", "job_id"],
        &[
            ["0", "submitted", "0"],
            ["5", "started", "0"],
            ["7", "finished", "0"],
            ["0", "submitted", "1"],
            ["0", "rejected", "1"],
        ],
    );
    let summary = table(
        ["path", "value"],
        &[["delay_s.mean", "2.5"], ["grid.domains.0.tie", "first"]],
    );
    let tables = [("jobs", jobs), ("events", events), ("summary", summary)];
    let run: Run = tables.map(|(name, table)| (name.to_owned(), table)).into();
    Runs::from([("random/r000".to_owned(), run)])
}

/// What differs from [`golden`] under these changes, as text.
fn compared(after: &Runs, changes: &str) -> Vec<String> {
    let changes = Changes::parse(&format!("{KEYS}{changes}"));
    let before = changes.apply_to_all(golden(), false);
    let after = changes.apply_to_all(after.clone(), true);
    let found = diff::of_all(&before, &after, &changes.keys);
    found.iter().map(Difference::told).collect()
}

/// The golden runs with a table changed.
fn changed(table: &str, by: impl FnOnce(&mut Table)) -> Runs {
    let mut runs = golden();
    by(runs.get_mut("random/r000").unwrap().get_mut(table).unwrap());
    runs
}

#[test]
fn a_cell_that_differs_is_told_by_job_column_before_and_after() {
    let after = changed("jobs", |jobs| jobs.rows[2][1] = "10".to_owned());
    assert_eq!(
        compared(&after, ""),
        ["random/r000 jobs, job_id=2: start_ns 9 -> 10"]
    );
}

#[test]
fn rows_that_come_or_go_do_not_shift_those_behind_them() {
    let after = changed("events", |events| {
        events.rows.remove(1);
        events
            .rows
            .push(["9", "rejected", "1"].map(str::to_owned).to_vec());
    });
    let expected = [
        "random/r000 events, job_id=0 event=started:  5 started 0 -> no such row",
        "random/r000 events, job_id=1 event=rejected (2):  no such row -> 9 rejected 1",
    ];
    assert_eq!(compared(&after, ""), expected);
}

#[test]
fn what_happens_to_one_job_keeps_its_order_and_jobs_of_one_instant_have_none() {
    let across = changed("events", |events| events.rows.rotate_left(3));
    assert_eq!(compared(&across, ""), [] as [&str; 0]);
    let within = changed("events", |events| events.rows.swap(3, 4));
    let expected = "random/r000 events, job_id=1 event=rejected: order of rows \
                    after job_id=1 event=submitted -> before job_id=1 event=submitted";
    assert_eq!(compared(&within, ""), [expected]);
}

#[test]
fn a_run_a_table_or_a_column_that_is_missing_is_a_difference() {
    let mut after = golden();
    after.get_mut("random/r000").unwrap().remove("summary");
    let expected = "random/r000 summary, :  2 rows -> no such table";
    assert_eq!(compared(&after, ""), [expected]);
    let after = changed("jobs", |jobs| {
        jobs.columns.pop();
        jobs.rows.iter_mut().for_each(|row| drop(row.pop()));
    });
    let expected = "random/r000 jobs, columns:  job_id,start_ns,cluster -> job_id,start_ns";
    assert_eq!(compared(&after, ""), [expected]);
    assert_eq!(compared(&Runs::new(), "").len(), 3);
}

#[test]
fn a_column_that_is_renamed_on_purpose_is_compared_under_its_new_name() {
    let renamed = |start: &str| {
        changed("jobs", |jobs| {
            jobs.columns[1] = "started_ns".to_owned();
            jobs.rows[0][1] = start.to_owned();
        })
    };
    assert_eq!(compared(&renamed("5"), "").len(), 1);
    let change = "[[column]]\ntable = \"jobs\"\nbefore = \"start_ns\"\nafter = \"started_ns\"\nreason = \"r\"\n";
    assert_eq!(compared(&renamed("5"), change), [] as [&str; 0]);
    assert_eq!(
        compared(&renamed("6"), change),
        ["random/r000 jobs, job_id=0: started_ns 5 -> 6"]
    );
}

#[test]
fn columns_that_come_or_go_on_purpose_are_left_out() {
    let after = changed("jobs", |jobs| {
        jobs.columns.swap_remove(1);
        jobs.columns.push("gpus".to_owned());
        for row in &mut jobs.rows {
            row.swap_remove(1);
            row.push("0".to_owned());
        }
    });
    let change = "[[column]]\ntable = \"jobs\"\nbefore = \"start_ns\"\nreason = \"r\"\n\
                  [[column]]\ntable = \"*\"\nafter = \"gpus\"\nreason = \"r\"\n";
    assert_eq!(
        compared(&after, ""),
        ["random/r000 jobs, columns:  job_id,start_ns,cluster -> job_id,cluster,gpus"]
    );
    assert_eq!(compared(&after, change), [] as [&str; 0]);
}

#[test]
fn an_event_that_is_renamed_or_new_on_purpose_is_no_difference_and_others_are() {
    let after = changed("events", |events| {
        events.rows[2][1] = "ended".to_owned();
        events
            .rows
            .insert(1, ["0", "promised", "0"].map(str::to_owned).to_vec());
    });
    let change = "[[value]]\ntable = \"events\"\ncolumn = \"event\"\nbefore = \"finished\"\nafter = \"ended\"\n\
                  reason = \"r\"\n[[value]]\ntable = \"events\"\ncolumn = \"event\"\nafter = \"promised\"\nreason = \"r\"\n";
    assert_eq!(compared(&after, "").len(), 3);
    assert_eq!(compared(&after, change), [] as [&str; 0]);
    let more = changed("events", |events| events.rows[1][1] = "begun".to_owned());
    assert_eq!(compared(&more, change).len(), 4);
}

#[test]
fn paths_tables_and_runs_are_renamed_by_patterns() {
    let mut after = changed("summary", |summary| {
        summary.rows[0][0] = "delay.mean".to_owned();
        summary.rows[1][0] = "tie".to_owned();
        summary
            .rows
            .push(["grid.clusters.0.gpus", "1"].map(str::to_owned).to_vec());
    });
    let mut run = after.remove("random/r000").unwrap();
    let summary = run.remove("summary").unwrap();
    run.insert("figures".to_owned(), summary);
    after.insert("chance/r000".to_owned(), run);
    let change = |kind: &str, rest: &str| format!("[[{kind}]]\nreason = \"r\"\n{rest}\n");
    let of_paths = "table = \"figures\"\ncolumn = \"path\"\n";
    let changes = [
        change("run", "before = \"random/**\"\nafter = \"chance/**\""),
        change("table", "before = \"summary\"\nafter = \"figures\""),
        change(
            "value",
            &format!("{of_paths}before = \"delay_s.*\"\nafter = \"delay.*\""),
        ),
        change(
            "value",
            &format!("{of_paths}before = \"grid.domains.*.tie\""),
        ),
        change(
            "value",
            &format!("{of_paths}after = \"grid.clusters.*.gpus\""),
        ),
        change("value", &format!("{of_paths}after = \"tie\"")),
    ];
    assert_eq!(compared(&after, &changes.concat()), [] as [&str; 0]);
    assert_eq!(compared(&after, &changes[1..].concat()).len(), 6);
}

#[test]
fn a_sentence_that_is_said_otherwise_keeps_its_figures() {
    let said = |text: &str| {
        let mut runs = golden();
        let summary = runs.get_mut("random/r000").unwrap().get_mut("summary");
        let row = ["warnings.0", text].map(str::to_owned).to_vec();
        summary.unwrap().rows.push(row);
        runs
    };
    let change = "[[value]]\ntable = \"*\"\ncolumn = \"value\"\nbefore = \"short: ** % of runs (**): a, **\"\n\
                  after = \"short: ** % of jobs, ** each: b, **\"\nreason = \"r\"\n";
    let changes = Changes::parse(&format!("{KEYS}{change}"));
    let before = changes.apply_to_all(said("short: 23.8 % of runs (2.5 s): a, e/f.g"), false);
    let found = |text: &str| {
        let after = changes.apply_to_all(said(text), true);
        diff::of_all(&before, &after, &changes.keys).len()
    };
    assert_eq!(found("short: 23.8 % of jobs, 2.5 s each: b, e/f.g"), 0);
    assert_eq!(found("short: 23.9 % of jobs, 2.5 s each: b, e/f.g"), 1);
    assert_eq!(found("short: 23.8 % of jobs, 2.5 s each: b, e/f.h"), 1);
}

#[test]
fn results_are_the_same_when_they_are_read_back() {
    let expected = "# random/r000\tevents\ttime_ns\tevent\tjob_id\n\
                    0\tsubmitted\t0\n5\tstarted\t0\n7\tfinished\t0\n\
                    0\tsubmitted\t1\n0\trejected\t1\n\
                    # random/r000\tjobs\tjob_id\tstart_ns\tcluster\n\
                    0\t5\ta1\n1\t\t\n2\t9\ta1\n\
                    # random/r000\tsummary\tpath\tvalue\n\
                    delay_s.mean\t2.5\ngrid.domains.0.tie\tfirst\n";
    assert_eq!(rows::write(&golden()), expected);
    assert_eq!(rows::read(expected), golden());
}
