//! Queries of the dashboards, put together from the table of metrics: a name
//! that is not there does not compile.

use gridrig_service::http::metrics::table::Metric;

/// Series of one metric, as the variables of a dashboard select them.
pub(super) struct Series {
    name: String,
    matchers: Vec<String>,
}

/// The variables that a series of each kind of service can be selected by: a
/// matcher on a label that the service has not would hide it.
fn variables(service: &str) -> &'static [&'static str] {
    match service {
        "emulator" => &["run", "policy", "domain", "cluster"],
        "broker" => &["run", "policy", "domain"],
        _ => &["run", "policy"],
    }
}

/// The series of a counter, gauge or information that a kind of service has.
pub(super) fn of(metric: &Metric, service: &str) -> Series {
    named(metric.series().swap_remove(0), service)
}

/// The same of whichever service.
pub(super) fn of_all(metric: &Metric) -> Series {
    named(metric.series().swap_remove(0), "")
}

/// The series of this name.
pub(super) fn named(name: String, service: &str) -> Series {
    let own = (!service.is_empty()).then(|| format!("service=\"{service}\""));
    let chosen = variables(service)
        .iter()
        .map(|label| format!("{label}=~\"${label}\""));
    Series {
        name,
        matchers: own.into_iter().chain(chosen).collect(),
    }
}

impl Series {
    /// Only those with this value of a label.
    pub fn with(mut self, label: &str, value: &str) -> Self {
        self.matchers.push(format!("{label}=\"{value}\""));
        self
    }

    /// Only those whose label matches.
    pub fn like(mut self, label: &str, pattern: &str) -> Self {
        self.matchers.push(format!("{label}=~\"{pattern}\""));
        self
    }

    /// Only those without this value of a label.
    pub fn without(mut self, label: &str, value: &str) -> Self {
        self.matchers.push(format!("{label}!=\"{value}\""));
        self
    }

    /// All added up.
    pub fn sum(self) -> String {
        format!("sum({})", self.text())
    }

    /// Added up by these labels.
    pub fn sum_by(self, labels: &str) -> String {
        format!("sum by ({labels}) ({})", self.text())
    }

    /// The largest by these labels.
    pub fn max_by(self, labels: &str) -> String {
        format!("max by ({labels}) ({})", self.text())
    }

    /// The largest of all.
    pub fn max(self) -> String {
        format!("max({})", self.text())
    }

    /// How many there are, by these labels.
    pub fn count_by(self, labels: &str) -> String {
        format!("count by ({labels}) ({})", self.text())
    }

    /// How many there are.
    pub fn number(self) -> String {
        format!("count({})", self.text())
    }

    /// The rise of a counter per second on the wall, by these labels.
    pub fn rate_by(self, labels: &str) -> String {
        format!(
            "sum by ({labels}) (rate({}[$__rate_interval]))",
            self.text()
        )
    }

    /// A quantile of a histogram since the start of each service.
    pub fn quantile(self, quantile: &str) -> String {
        format!(
            "histogram_quantile({quantile}, sum by (le) ({}))",
            self.text()
        )
    }

    /// A quantile of what a histogram has counted lately, by these labels.
    pub fn recent_quantile_by(self, quantile: &str, labels: &str) -> String {
        let rate = match labels {
            "" => self.rate_by("le"),
            labels => self.rate_by(&format!("{labels}, le")),
        };
        format!("histogram_quantile({quantile}, {rate})")
    }

    fn text(&self) -> String {
        format!("{}{{{}}}", self.name, self.matchers.join(","))
    }
}
