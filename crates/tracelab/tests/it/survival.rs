//! What real files hold and the reader has to live with.

use crate::{line, load_text};

#[test]
fn a_truncated_last_line_is_skipped_and_counted() {
    let good = line(1, "0", "10", 1, 1, 1);
    for cut in ["2 5 -1 10", "2 5 -1 10 1 -1 -1 1 600 -1 1 3 1 1 1 1 -1 -"] {
        let loaded = load_text(format!("{good}{cut}")).unwrap();
        assert_eq!(loaded.jobs.len(), 1);
        assert_eq!(loaded.skipped["truncated-last-line"], 1);
    }
}

#[test]
fn blanks_tabs_empty_lines_and_a_byte_order_mark_do_no_harm() {
    let text = format!(
        "\u{feff}; MaxProcs: 8\n\n   \t\n    {}",
        line(1, "0", "10", 1, 1, 1).replace(' ', " \t ")
    );
    let loaded = load_text(text).unwrap();
    assert_eq!(loaded.jobs.len(), 1);
    assert_eq!(loaded.header.max_processors(), Some(8));
}

#[test]
fn bad_utf8_in_comments_does_no_harm() {
    let mut text = b"; Note: caf\xe9 \xff\n".to_vec();
    text.extend_from_slice(line(1, "0", "10", 1, 1, 1).as_bytes());
    let loaded = load_text(text).unwrap();
    assert!(loaded.header.values("Note")[0].starts_with("caf"));
}

#[test]
fn columns_past_the_18th_are_not_read_and_warned_of_once() {
    let check = |extra: &str, told: &str| {
        let wide = line(1, "0", "10", 1, 1, 1).replace('\n', &format!("{extra}\n"));
        let loaded = load_text(wide.repeat(3)).unwrap();
        assert_eq!(loaded.jobs.len(), 3);
        let expected = format!("t.swf:1: lines with {told}; those past the 18th are not read");
        assert_eq!(loaded.warnings, [expected]);
    };
    check(" 7", "19 fields");
    check(" {1, 2} {a} 3", "22 fields, the 19th a list in braces");
    check(
        " {12,12} q_1d 1:ppn=2:x86_64",
        "21 fields, the 19th a list in braces (extended SWF as of Alea)",
    );
}

#[test]
fn comments_with_a_hash_are_skipped_and_warned_of() {
    let loaded = load_text(format!("# made by hand\n{}", line(1, "0", "10", 1, 1, 1))).unwrap();
    assert_eq!(
        loaded.warnings,
        ["t.swf: 1 lines that begin with # were read as comments"]
    );
}

#[test]
fn submit_times_that_step_backwards_are_sorted_and_ties_keep_their_order() {
    let text = [(1, "5"), (2, "3"), (3, "5"), (4, "3")].map(|(n, at)| line(n, at, "9", 1, 1, 1));
    let loaded = load_text(text.concat()).unwrap();
    let ids: Vec<u64> = loaded.jobs.iter().map(|j| j.trace_id).collect();
    assert_eq!(ids, [2, 4, 1, 3]);
    assert_eq!(
        loaded.warnings,
        ["t.swf: 2 submit times step backwards; the jobs were sorted"]
    );
}
