//! JSON that people can read: objects over several lines, lists of numbers on
//! one.

use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;

/// Lists without objects are written on a line of their own up to this width.
const WIDTH: usize = 100;

/// A model as text, with a line feed at the end.
pub(super) fn pretty(model: &impl Serialize) -> String {
    let value = serde_json::to_value(model);
    let value = value.expect("parameters are numbers, texts and lists of them");
    let mut text = String::new();
    write(&mut text, &value, 0);
    text.push('\n');
    text
}

fn write(text: &mut String, value: &Value, depth: usize) {
    let indent = "  ".repeat(depth + 1);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            text.push('{');
            for (at, (key, field)) in fields.iter().enumerate() {
                let comma = if at > 0 { "," } else { "" };
                // Writing to a String cannot fail.
                let _ = write!(text, "{comma}\n{indent}{}: ", Value::from(key.as_str()));
                write(text, field, depth + 1);
            }
            let _ = write!(text, "\n{}}}", "  ".repeat(depth));
        }
        Value::Array(items) if !flat(value) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                let comma = if at > 0 { "," } else { "" };
                let _ = write!(text, "{comma}\n{indent}");
                write(text, item, depth + 1);
            }
            let _ = write!(text, "\n{}]", "  ".repeat(depth));
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                text.push(if at > 0 { ',' } else { '[' });
                match item {
                    Value::Number(number) => {
                        let number = number.to_string();
                        text.push_str(number.strip_suffix(".0").unwrap_or(&number));
                    }
                    item => write(text, item, depth),
                }
            }
            text.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        other => {
            let _ = write!(text, "{other}");
        }
    }
}

/// Whether a list fits on one line: numbers, texts, or a short list of lists.
fn flat(value: &Value) -> bool {
    let Value::Array(items) = value else {
        return true;
    };
    let simple = items
        .iter()
        .all(|item| !item.is_object() && !item.is_array());
    simple || (!items.iter().any(Value::is_object) && value.to_string().len() <= WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_of_numbers_stay_on_one_line_and_all_is_read_back() {
        let value = json!({"a": {"b": [1, 2, 3.5]}, "f": [[1.5, []], -7], "c": [{"d": []}, {"d": {}}], "e": "\"x\n"});
        let text = pretty(&value);
        assert!(text.contains("\"b\": [1,2,3.5]\n"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        // In a list a whole number takes no more room than it must.
        assert_eq!(pretty(&json!([2.0, 0.5, -0.0])), "[2,0.5,-0]\n");
    }
}
