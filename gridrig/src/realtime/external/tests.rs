//! The ways that a text asks for.

use super::*;
use gridrig_core::time::Decimal;

#[test]
fn a_way_out_has_as_many_submissions_under_way_as_it_may() {
    let limits = Limits {
        at_once: 7,
        ..Limits::default()
    };
    let here = Path::new(".");
    let log = Arc::new(CommandLog::none(RunClock::starting_in(
        Duration::ZERO,
        Decimal::ONE,
    )));
    for (text, most) in [
        ("json:http://127.0.0.1:9", 7),
        ("bes:http://127.0.0.1:9", 7),
        ("arc:http://127.0.0.1:9", 7),
        ("command:true {script}", 7),
        ("lagrid:http://127.0.0.1:9#a", 1),
    ] {
        let text = OutletText::read(text).unwrap();
        let way = outlet(&text, (here, here), limits, &log).unwrap();
        assert_eq!(way.at_once(), most, "{text:?}");
    }
}
