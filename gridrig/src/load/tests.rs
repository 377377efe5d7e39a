//! What ends a load before its time.

use super::*;
use crate::realtime::unless_it_breaks_off;
use gridrig_replayer::outlet::Answer;

/// What goes on beside it has panicked.
#[derive(Debug)]
struct Broken;

impl Outlet for Broken {
    fn submit<'a>(&'a self, _request: &'a SubmitRequest) -> Answer<'a> {
        resume_unwind(Box::new(io::Error::other("the heartbeats of the session")))
    }
}

#[tokio::test]
async fn a_panic_of_an_outlet_ends_the_load_and_is_named() {
    let plan = Plan {
        clients: 2,
        every: Duration::ZERO,
        each: Duration::from_secs(3600),
        timeout: Duration::from_secs(3600),
        processors: 1,
        run_time: Duration::from_secs(1),
        until: Until::Accepted,
    };
    let stop = std::future::pending();
    let driven = drive(plan, Arc::new(Broken), None, None, stop);
    let why = unless_it_breaks_off(driven).await.err().unwrap();
    assert_eq!(why.to_string(), "the heartbeats of the session");
}
