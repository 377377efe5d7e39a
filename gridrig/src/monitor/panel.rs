//! Panels of Grafana's classic dashboards, and how they are laid out.

use serde_json::{Value, json};

/// Columns of Grafana's grid.
const COLUMNS: u32 = 24;

/// What a panel shows its queries as.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// One figure of now.
    Figure,
    /// A share of now, as a bar from 0 to 1.
    Share,
    /// Lines over time.
    Lines,
    /// Areas on top of each other over time.
    Stack,
    /// The rows of now.
    Rows,
    /// The rows of now as a matrix of two labels.
    Matrix(&'static str, &'static str),
}

/// One panel.
pub(super) struct Panel {
    title: &'static str,
    description: &'static str,
    form: Form,
    unit: &'static str,
    width: u32,
    height: u32,
    /// Query and legend.
    queries: Vec<(String, &'static str)>,
}

/// A panel of one query; `unit` is one of Grafana's.
pub(super) fn panel(
    title: &'static str,
    description: &'static str,
    form: Form,
    unit: &'static str,
    query: String,
    legend: &'static str,
) -> Panel {
    let (width, height) = match form {
        Form::Figure | Form::Share => (3, 4),
        Form::Rows | Form::Matrix(..) | Form::Lines | Form::Stack => (12, 8),
    };
    Panel {
        title,
        description,
        form,
        unit,
        width,
        height,
        queries: vec![(query, legend)],
    }
}

impl Panel {
    /// The same with one more query.
    pub fn and(mut self, query: String, legend: &'static str) -> Self {
        self.queries.push((query, legend));
        self
    }

    /// The same with another width, in columns.
    pub fn wide(mut self, columns: u32) -> Self {
        self.width = columns.min(COLUMNS);
        self
    }

    fn render(&self, id: usize, x: u32, y: u32) -> Value {
        let mut panel = json!({
            "id": id,
            "type": self.kind(),
            "title": self.title,
            "description": self.description,
            "gridPos": { "x": x, "y": y, "w": self.width, "h": self.height },
            "datasource": datasource(),
            "fieldConfig": { "defaults": self.defaults(), "overrides": [] },
            "options": self.options(),
            "targets": self.targets(),
        });
        if let Form::Matrix(row, column) = self.form {
            panel["transformations"] = json!([{
                "id": "groupingToMatrix",
                "options": { "rowField": row, "columnField": column, "valueField": "Value" },
            }]);
        }
        if let Form::Rows = self.form {
            panel["transformations"] = json!([{
                "id": "organize",
                "options": { "excludeByName": { "Time": true } },
            }]);
        }
        panel
    }

    fn kind(&self) -> &'static str {
        match self.form {
            Form::Figure => "stat",
            Form::Share => "gauge",
            Form::Lines | Form::Stack => "timeseries",
            Form::Rows | Form::Matrix(..) => "table",
        }
    }

    fn defaults(&self) -> Value {
        let mut defaults = json!({ "unit": self.unit });
        match self.form {
            Form::Share => {
                defaults["min"] = json!(0);
                defaults["max"] = json!(1);
            }
            Form::Lines => {
                defaults["min"] = json!(0);
                defaults["custom"] =
                    json!({ "lineWidth": 2, "fillOpacity": 0, "showPoints": "never" });
            }
            Form::Stack => {
                defaults["min"] = json!(0);
                defaults["custom"] = json!({
                    "lineWidth": 1, "fillOpacity": 60, "showPoints": "never",
                    "stacking": { "mode": "normal", "group": "A" },
                });
            }
            Form::Figure | Form::Rows | Form::Matrix(..) => {}
        }
        defaults
    }

    fn options(&self) -> Value {
        match self.form {
            Form::Lines | Form::Stack => json!({
                "legend": { "displayMode": "list", "placement": "bottom" },
                "tooltip": { "mode": "multi", "sort": "desc" },
            }),
            Form::Figure | Form::Share => json!({
                "reduceOptions": { "calcs": ["lastNotNull"], "fields": "", "values": false },
            }),
            Form::Rows | Form::Matrix(..) => json!({}),
        }
    }

    fn targets(&self) -> Value {
        let over_time = matches!(self.form, Form::Lines | Form::Stack);
        let table = matches!(self.form, Form::Rows | Form::Matrix(..));
        let target = |(index, (query, legend)): (usize, &(String, &str))| {
            json!({
                "refId": char::from(b'A' + (index as u8 % 26)).to_string(),
                "datasource": datasource(),
                "expr": query,
                "legendFormat": legend,
                "format": if table { "table" } else { "time_series" },
                "instant": !over_time,
                "range": over_time,
            })
        };
        self.queries.iter().enumerate().map(target).collect()
    }
}

fn datasource() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

/// Panels from left to right and from top to bottom, with ids from 1. A panel
/// that does not fit into a line begins the next one.
pub(super) fn lay_out(panels: &[Panel]) -> Vec<Value> {
    let (mut x, mut y, mut line) = (0, 0, 0);
    let mut all = Vec::new();
    for (index, panel) in panels.iter().enumerate() {
        if x + panel.width > COLUMNS {
            (x, y, line) = (0, y + line, 0);
        }
        all.push(panel.render(index + 1, x, y));
        x += panel.width;
        line = line.max(panel.height);
    }
    all
}
