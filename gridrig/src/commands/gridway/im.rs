//! The information driver.

use super::clusters::{ClusterArgs, Known};
use super::filter::{self, Request};
use crate::exit::Failure;
use gridrig_protocol::rest::{ClusterInfo, NodeGroup};
use std::fmt::Write as _;
use std::time::Duration;

/// How long a cluster may take to say how busy it is.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct Driver(Known);

impl Driver {
    pub(super) fn new(args: ClusterArgs) -> Result<Self, Failure> {
        Known::new(args, TIMEOUT).map(Driver)
    }

    async fn monitor(&self, host: &str) -> Result<String, String> {
        let url = self.0.url(host).await?;
        let info = self.0.client.cluster(&url).await;
        info.map(|info| attributes(host, &info))
            .map_err(|error| error.to_string())
    }
}

impl filter::Driver for Driver {
    async fn handle(&self, request: &Request) -> Result<String, String> {
        match request.operation.as_str() {
            "INIT" => Ok("-".to_owned()),
            "DISCOVER" => self.0.discover().await,
            "MONITOR" => self.monitor(request.word(0)).await,
            other => Err(format!(
                "operation {other}: expected INIT, DISCOVER or MONITOR"
            )),
        }
    }
}

/// What GridWay wants to know of a host, in the variables of its host
/// requirements and ranks. A node of GridWay is a processor here.
fn attributes(host: &str, info: &ClusterInfo) -> String {
    let free = info.processors.saturating_sub(info.load.busy);
    let first = info.resources.first();
    let text = |value: Option<&String>| {
        let value = value.map_or("NULL", String::as_str);
        value.replace(['"', '\n'], " ")
    };
    let total = |of: fn(&NodeGroup) -> Option<u64>| -> u64 {
        let groups = info.resources.iter();
        groups.fold(0, |sum, group| {
            sum.saturating_add(of(group).unwrap_or(0).saturating_mul(group.nodes.into()))
        })
    };
    // gwd reads numbers by atoi.
    let most = i32::MAX.unsigned_abs().into();
    let memory = total(|group| group.memory_mib).min(most);
    let disk = total(|group| group.disk_mib).min(most);
    let share = u64::from(free) * 100 / u64::from(info.processors.max(1));
    let mut line = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        line,
        "HOSTNAME=\"{host}\" ARCH=\"{}\" OS_NAME=\"{}\" OS_VERSION=\"NULL\" CPU_MODEL=\"NULL\" \
         CPU_MHZ=0 CPU_FREE={share} CPU_SMP={} NODECOUNT={} SIZE_MEM_MB={memory} \
         FREE_MEM_MB={} SIZE_DISK_MB={disk} FREE_DISK_MB={disk} FORK_NAME=\"fork\" \
         LRMS_NAME=\"gridrig\" LRMS_TYPE=\"gridrig\"",
        text(first.and_then(|group| group.architecture.as_ref())),
        text(first.and_then(|group| group.os.as_ref())),
        first.map_or(1, |group| group.processors_per_node),
        info.processors,
        memory.saturating_mul(free.into()) / u64::from(info.processors.max(1)),
    );
    let _ = write!(
        line,
        " QUEUE_NAME[0]=\"batch\" QUEUE_NODECOUNT[0]={} QUEUE_FREENODECOUNT[0]={free} \
         QUEUE_MAXTIME[0]=0 QUEUE_MAXCPUTIME[0]=0 QUEUE_MAXCOUNT[0]={} \
         QUEUE_MAXRUNNINGJOBS[0]=0 QUEUE_MAXJOBSINQUEUE[0]=0 QUEUE_STATUS[0]=\"enabled\" \
         QUEUE_DISPATCHTYPE[0]=\"batch\" QUEUE_PRIORITY[0]=\"NULL\" QUEUE_JOBWAIT[0]={}",
        info.processors, info.processors, info.load.queued,
    );
    line
}
