//! `portcullis reload`, `stop` and `resume`: what running gateways are told.

use std::io::{self, Write};

use portcullis_model::json::Value;
use portcullis_model::object;
use portcullis_store::Home;

use crate::arguments::Format;
use crate::failure::OrExit as _;
use crate::gateway::runtime;
use crate::operator::Gateways;
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure, stop};

/// Has all gateways of the home look at their config now.
pub(crate) fn reload(settings: &Settings, format: Format) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    let told = tell(&home)?;
    report::print(
        &Told { what: "they look at their config; `portcullis status` shows what they make of it", told },
        format,
    )?;
    Ok(Exit::Success)
}

/// Stops every server of all gateways of the home, now and of those that start later.
pub(crate) fn stop(settings: &Settings, format: Format) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    stop::set(&home).or_exit(Exit::State, "stopping the servers")?;
    let told = tell(&home)?;
    report::print(&Told { what: "every server is withdrawn and stopped until `portcullis resume`", told }, format)?;
    Ok(Exit::Success)
}

/// Lets the servers run again.
pub(crate) fn resume(settings: &Settings, format: Format) -> Result<Exit, Failure> {
    let home = settings.open_home()?;
    let were_stopped = stop::remove(&home)
        .or_exit(Exit::State, "letting the servers run again")
        .map_err(|failure| failure.hint(format!("remove {} by hand", stop::file(&home).display())))?;
    let told = tell(&home)?;
    let what = if were_stopped { "servers run again" } else { "servers were not stopped" };
    report::print(&Told { what, told }, format)?;
    Ok(Exit::Success)
}

/// Tells all gateways to look, and returns how many were told. Others look by themselves within moments.
fn tell(home: &Home) -> Result<usize, Failure> {
    let runtime = runtime()?;
    let told = runtime.block_on(async {
        let gateways = Gateways::of(home).or_exit(Exit::State, "opening the folder for approvals")?;
        let connections = gateways.connect().await.or_exit(Exit::State, "looking for running gateways")?;
        let mut told = 0;
        for mut connection in connections {
            match connection.look().await {
                Ok(_) => told += 1,
                Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "a gateway does not answer"),
            }
        }
        Ok(told)
    });
    runtime.shutdown_background();
    told
}

/// How many gateways were told what.
struct Told {
    what: &'static str,
    told: usize,
}

impl Report for Told {
    fn to_value(&self) -> Value {
        object! { "gateways" => self.told as u64, "done" => self.what }.into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} told: {}", count(self.told, "gateway"), self.what)
    }
}
