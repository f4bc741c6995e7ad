//! `portcullis demo`: a misbehaving server, and what is left of it.

use std::io::{self, Write};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::Home;

use crate::demo::scenario::{self, Played, Step};
use crate::failure::{OrExit as _, one_line};
use crate::report::{self, Report, count};
use crate::{Exit, Failure, arguments, passages};

/// Plays the demo in a temporary home folder and prints what happened. Succeeds only if everything was stopped.
pub(crate) fn run(arguments: &arguments::Demo) -> Result<Exit, Failure> {
    let folder = tempfile::Builder::new()
        .prefix("portcullis-demo-")
        .tempdir()
        .or_exit(Exit::State, "creating a home folder for the demo")?;
    let home = Home::open(folder.path()).or_exit(Exit::State, "opening the home folder of the demo")?;
    let played = scenario::play(&home, |step| report::progress(step, arguments.format));
    let played = match played {
        Ok(played) => played,
        Err(error) => {
            let kept = folder.keep();
            return Err(error)
                .or_exit(Exit::Failed, "playing the demo")
                .map_err(|failure| failure.hint(format!("the logs are in {}", kept.display())));
        }
    };
    report::print(&played, arguments.format)?;
    Ok(if played.held() { Exit::Success } else { Exit::Failed })
}

impl Played {
    fn held(&self) -> bool {
        self.steps.iter().all(|step| step.held)
    }
}

impl Report for Played {
    fn to_value(&self) -> Value {
        let milliseconds = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        object! {
            "ok" => self.held(),
            "started_in_ms" => milliseconds(self.started_in),
            "withdrawn_in_ms" => milliseconds(self.withdrawn_in),
            "steps" => self.steps.iter().map(step_to_value).collect::<Vec<_>>(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for step in &self.steps {
            let mark = if step.held { "ok  " } else { "FAIL" };
            writeln!(out, "\n{mark} {}", step.title)?;
            writeln!(out, "    server sent   {}", shown(&step.sent))?;
            writeln!(out, "    model got     {}", shown(&step.reached))?;
            passages::write_text(&step.passages, out)?;
        }
        let held = self.steps.iter().filter(|step| step.held).count();
        writeln!(
            out,
            "\n{held} of {} as they must be; first tools after {:.1} s, the second server withdrawn {:.1} s after its indicator",
            self.steps.len(),
            self.started_in.as_secs_f64(),
            self.withdrawn_in.as_secs_f64()
        )
    }
}

fn step_to_value(step: &Step) -> Value {
    object! {
        "step" => step.title,
        "held" => step.held,
        "sent" => step.sent.as_str(),
        "reached_model" => step.reached.as_str(),
        "gates" => step.passages.iter().map(passages::to_value).collect::<Vec<_>>(),
    }
    .into()
}

/// Returns a text for the terminal, with invisible characters counted instead of spelled out.
fn shown(text: &str) -> String {
    let hidden = |character: &char| ('\u{e0000}'..='\u{e007f}').contains(character);
    let mut visible = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if hidden(&character) {
            let more = std::iter::from_fn(|| characters.next_if(hidden)).count();
            visible.push('[');
            visible.push_str(&count(more + 1, "invisible character"));
            visible.push(']');
        } else {
            visible.push(character);
        }
    }
    one_line(&visible.replace('\n', " ⏎ "))
}
