//! `portcullis check`: what is wrong with the config.

use std::io::{self, Write};
use std::path::Path;

use portcullis_config::{Config, Level};
use portcullis_model::json::Value;
use portcullis_model::{Launch, object};

use crate::arguments;
use crate::failure::one_line;
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure};

/// Reads the config and prints what is wrong. Starts nothing and writes nothing.
pub(crate) fn run(settings: &Settings, arguments: &arguments::Report) -> Result<Exit, Failure> {
    let (path, config) = settings.read_config(&arguments.config)?;
    report::print(&Checked { path: &path, config: &config }, arguments.format)?;
    Ok(if config.has_errors() { Exit::Failed } else { Exit::Success })
}

pub(crate) struct Checked<'a> {
    pub(crate) path: &'a Path,
    pub(crate) config: &'a Config,
}

impl Checked<'_> {
    fn of_level(&self, level: Level) -> usize {
        self.config.diagnostics.iter().filter(|diagnostic| diagnostic.level == level).count()
    }
}

impl Report for Checked<'_> {
    fn to_value(&self) -> Value {
        let config = self.config;
        let servers: Vec<Value> = config
            .servers
            .iter()
            .map(|server| {
                let transport = match &server.entry.launch {
                    Launch::Stdio { .. } => "stdio",
                    Launch::Http { legacy_sse: false, .. } => "http",
                    Launch::Http { legacy_sse: true, .. } => "sse",
                };
                object! {
                    "name" => server.name().as_str(),
                    "transport" => transport,
                    "enabled" => server.options.enabled,
                }
                .into()
            })
            .collect();
        object! {
            "file" => self.path.display().to_string(),
            "ok" => !config.has_errors(),
            "servers" => servers,
            "left_out" => config.left_out.iter().map(|name| Value::from(name.as_str())).collect::<Vec<_>>(),
            "diagnostics" => config.diagnostics.iter().map(portcullis_config::Diagnostic::to_value).collect::<Vec<_>>(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for diagnostic in &self.config.diagnostics {
            // A hint stands on a line of its own; everything else in it may come from a file of somebody else.
            for line in diagnostic.to_string().lines() {
                writeln!(out, "{}", one_line(line))?;
            }
        }
        let usable = self.config.servers.iter().filter(|server| server.options.enabled).count();
        let off = self.config.servers.len() - usable;
        write!(out, "{}: {} can run", self.path.display(), count(usable, "server"))?;
        if off > 0 {
            write!(out, ", {off} switched off")?;
        }
        if !self.config.left_out.is_empty() {
            write!(out, ", {} left out ({})", self.config.left_out.len(), one_line(&self.config.left_out.join(", ")))?;
        }
        let (errors, warnings) = (self.of_level(Level::Error), self.of_level(Level::Warning));
        writeln!(out, "; {}, {}", count(errors, "error"), count(warnings, "warning"))
    }
}

#[cfg(test)]
mod tests;
