//! Questions on a terminal. What gateways sent is escaped by them already, and once more here: a terminal acts on what
//! it is shown.

use std::io::{self, Write};
use std::time::Duration;

use portcullis_model::json::Value;
use portcullis_model::object;

use crate::commands::grants::rough;
use crate::failure::one_line;
use crate::operator::{Shown, shown_to_value};
use crate::report::{Report, count};

/// All questions, a line each.
pub(super) struct Listing {
    pub(super) gateways: usize,
    pub(super) questions: Vec<Shown>,
}

impl Report for Listing {
    fn to_value(&self) -> Value {
        object! {
            "gateways" => self.gateways as u64,
            "pending" => self.questions.iter().map(shown_to_value).collect::<Vec<_>>(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.gateways == 0 {
            return writeln!(out, "no gateway is running");
        }
        let gateways = count(self.gateways, "gateway");
        writeln!(out, "{} open in {gateways}", count(self.questions.len(), "question"))?;
        self.questions.iter().try_for_each(|shown| write_line(shown, out))
    }
}

/// Writes a question in one line.
pub(super) fn write_line(shown: &Shown, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "  {}  {} gate: {}", one_line(&shown.id), one_line(&shown.gate), what(shown))?;
    let codes: Vec<_> = shown.questions.iter().map(|question| one_line(&question.code)).collect();
    write!(out, " ({})", codes.join(", "))?;
    writeln!(out, ", {}", state(shown))
}

fn what(shown: &Shown) -> String {
    let name = if shown.name.is_empty() || shown.name == shown.server {
        String::new()
    } else {
        format!(" `{}`", one_line(&shown.name))
    };
    let kind = one_line(&shown.kind);
    match shown.gate.as_str() {
        "config" => format!("the server `{}`", one_line(&shown.server)),
        _ => format!("the {kind}{name} of the server `{}`", one_line(&shown.server)),
    }
}

fn state(shown: &Shown) -> String {
    let left = shown.seconds_left.map(|seconds| rough(Duration::from_secs(seconds)));
    match (shown.answered, shown.waits, left) {
        (Some(true), _, _) => "approved".to_owned(),
        (Some(false), _, _) => "refused".to_owned(),
        (None, true, Some(left)) => format!("waits {left} more"),
        (None, false, Some(left)) => format!("asked {} ago, open for {left}", rough(shown.age())),
        (None, _, None) => format!("stands since {}", rough(shown.age())),
    }
}

/// One question with all that is known of it.
pub(super) struct Detail(pub(super) Shown);

impl Report for Detail {
    fn to_value(&self) -> Value {
        shown_to_value(&self.0)
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let shown = &self.0;
        writeln!(
            out,
            "{}: {} at the {} gate, {}",
            one_line(&shown.id),
            what(shown),
            one_line(&shown.gate),
            state(shown)
        )?;
        let mut field = |name: &str, text: &str| {
            if text.is_empty() { Ok(()) } else { writeln!(out, "  {name:<11} {}", one_line(text)) }
        };
        field("arguments", &shown.arguments)?;
        field("definition", &shown.definition)?;
        field("for", &format!("{}, session {}, gateway {}", shown.principal, shown.session, shown.gateway))?;
        for question in &shown.questions {
            let about = format!("{} ({}, {}): {}", question.policy, question.code, question.severity, question.text);
            field("question", &about)?;
        }
        if shown.further_questions > 0 {
            field("", &format!("and {} more", shown.further_questions))?;
        }
        let id = one_line(&shown.id);
        writeln!(
            out,
            "  yes         portcullis approvals allow {id} [--for once|session|always, else {}]",
            shown.usual
        )?;
        writeln!(out, "  no          portcullis approvals deny {id}")
    }
}

/// What became of answers.
pub(super) struct Done(pub(super) Vec<(String, bool, String)>);

impl Report for Done {
    fn to_value(&self) -> Value {
        let one = |(id, allow, done): &(String, bool, String)| {
            Value::from(object! { "id" => id.as_str(), "allowed" => *allow, "done" => done.as_str() })
        };
        object! { "answered" => self.0.iter().map(one).collect::<Vec<_>>() }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.0.iter().try_for_each(|(id, allow, done)| {
            let word = if *allow { "approved" } else { "refused" };
            let effect = match (done.as_str(), allow) {
                ("released", true) => ": what waited goes on",
                ("released", false) => ": what waited was not done",
                ("kept", true) => ": it counts the next time it is asked for, or is published now",
                _ => "",
            };
            writeln!(out, "{} {word}{effect}", one_line(id))
        })
    }
}
