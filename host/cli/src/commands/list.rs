//! `portcullis list` and `portcullis test`: what becomes of the servers, without a client.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use portcullis_config::{Config, ServerOptions};
use portcullis_mcp::status::{ServerStatus, Status};
use portcullis_model::json::{Object, Value};
use portcullis_model::object;
use portcullis_store::{JournalEntry, JournalReader as _, Query};

use crate::arguments::{self, Format};
use crate::failure::{OrExit as _, one_line};
use crate::gateway::{Composition, runtime};
use crate::policy_report::{self, PolicyLine};
use crate::report::{self, Report, count};
use crate::settings::Settings;
use crate::{Exit, Failure, passages, server_report};

/// Besides the servers' own limits, so long a survey waits: for policies to compile, and for lists to be scanned.
const GRACE: Duration = Duration::from_mins(2);

/// From so long on, waiting for policies is worth a word.
const SLOW: Duration = Duration::from_secs(1);

/// Starts all servers and shows what of them would be published.
pub(crate) fn list(settings: &Settings, arguments: &arguments::Report) -> Result<Exit, Failure> {
    let (_, mut config) = settings.read_config(&arguments.config)?;
    // Asked now, so started now, and not only remembered.
    config.servers.iter_mut().for_each(|server| server.options.lazy = false);
    let survey = Survey { gates: false, ..survey(settings, &config, arguments.format)? };
    report::print(&survey, arguments.format)?;
    Ok(Exit::Success)
}

/// Starts one server, switched off or not, and shows what each gate said.
pub(crate) fn test(settings: &Settings, arguments: &arguments::Test) -> Result<Exit, Failure> {
    let (_, mut config) = settings.read_config(&arguments.report.config)?;
    let names: Vec<String> = config.servers.iter().map(|server| server.name().to_string()).collect();
    config.servers.retain(|server| server.name().as_str() == arguments.name);
    let Some(server) = config.servers.first_mut() else {
        return Err(unknown(&arguments.name, &names, &config));
    };
    server.options = ServerOptions { enabled: true, lazy: false, ..server.options.clone() };
    let survey = survey(settings, &config, arguments.report.format)?;
    report::print(&survey, arguments.report.format)?;
    Ok(if survey.all_ready() { Exit::Success } else { Exit::Failed })
}

/// Returns the failure of a name that no server of the config has, or whose entry has errors.
pub(crate) fn unknown(name: &str, names: &[String], config: &Config) -> Failure {
    if config.left_out.iter().any(|left_out| left_out == name) {
        let mistakes = config.diagnostics.iter().filter(|diagnostic| diagnostic.server.as_deref() == Some(name));
        let mistakes: Vec<_> = mistakes.map(|diagnostic| diagnostic.message.clone()).collect();
        return Failure::new(Exit::Config, format!("the config of `{name}` has errors: {}", mistakes.join("; ")))
            .hint("`portcullis check` shows where");
    }
    let known = if names.is_empty() { "the config names none".to_owned() } else { names.join(", ") };
    Failure::new(Exit::Usage, format!("the config has no server `{name}`")).hint(format!("servers: {known}"))
}

/// What became of the servers.
pub(crate) struct Survey {
    pub(crate) status: Status,
    tools: Vec<(String, String)>,
    /// The servers' own names of the tools.
    pub(crate) own_names: Vec<String>,
    policies: Vec<PolicyLine>,
    passages: Vec<JournalEntry>,
    /// False where what the gates did is left out.
    gates: bool,
}

/// Starts the servers of a config, waits for them, and stops them again.
pub(crate) fn survey(settings: &Settings, config: &Config, format: Format) -> Result<Survey, Failure> {
    let home = settings.open_home()?;
    let runtime = runtime()?;
    let survey = runtime.block_on(async {
        let composition = Composition::start(&home, config, Vec::new())?;
        let last = composition.store.latest(&Query { limit: 1, ..Query::default() });
        let last = last.or_exit(Exit::State, "reading the journal")?.first().map_or(0, |entry| entry.id);
        let gateway = Arc::clone(&composition.gateway);
        gateway.start(&Object::new().into());
        let slowest = config.servers.iter().map(|server| server.options.connect_timeout).max().unwrap_or_default();
        let settled = async {
            if tokio::time::timeout(SLOW, composition.ready()).await.is_err() {
                report::progress(report::LOADING, format);
                composition.ready().await;
            }
            gateway.settled().await;
        };
        if tokio::time::timeout(slowest + GRACE, settled).await.is_err() {
            tracing::warn!("not all servers got ready in time");
        }
        let catalogue = gateway.catalogue();
        let own_names = catalogue.tools().iter().map(|tool| tool.name().to_owned()).collect();
        let tools =
            catalogue.tools().iter().map(|tool| (tool.server().to_string(), tool.exposed().to_owned())).collect();
        let passages = passages_since(&composition, last)?;
        let survey = Survey {
            status: gateway.status(),
            tools,
            own_names,
            policies: policy_report::lines(&composition.policies),
            passages,
            gates: true,
        };
        composition.shut_down().await;
        Ok(survey)
    });
    runtime.shutdown_background();
    survey
}

fn passages_since(composition: &Composition, last: i64) -> Result<Vec<JournalEntry>, Failure> {
    // The gateway's own session: screening, starting, listing. Other gateways of the home may write meanwhile, but a
    // passage of theirs over the same servers says the same.
    let query =
        Query { after: Some(last), session: Some("gateway".to_owned()), limit: Query::MOST, ..Query::default() };
    let mut passages = composition.store.latest(&query).or_exit(Exit::State, "reading the journal")?;
    passages.reverse();
    Ok(passages)
}

impl Survey {
    fn all_ready(&self) -> bool {
        !self.status.servers.is_empty() && self.status.servers.iter().all(|server| server.phase.is_up())
    }

    fn tools_of<'a>(&'a self, server: &'a ServerStatus) -> impl Iterator<Item = &'a str> {
        let of_server = |(name, _): &&(String, String)| name == server.server.as_str();
        self.tools.iter().filter(of_server).map(|(_, tool)| tool.as_str())
    }

    fn passages_of<'a>(&'a self, server: &'a ServerStatus) -> impl Iterator<Item = &'a JournalEntry> {
        self.passages.iter().filter(|entry| self.gates && entry.server == server.server.as_str())
    }

    fn server_to_value(&self, server: &ServerStatus) -> Value {
        let mut object = server_report::to_object(server);
        object.insert("tools", self.tools_of(server).map(Value::from).collect::<Vec<_>>());
        if self.gates {
            object.insert("gates", self.passages_of(server).map(passages::to_value).collect::<Vec<_>>());
        }
        object.into()
    }

    fn write_server(&self, server: &ServerStatus, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{}: {}", one_line(server.server.as_str()), server.phase.as_str())?;
        match server.started_in.filter(|_| server.phase.is_up()) {
            Some(started_in) => write!(out, " in {:.2} s", started_in.as_secs_f64())?,
            None => write!(out, " for {} s", server.since.elapsed().unwrap_or_default().as_secs())?,
        }
        let about = [server.implementation.as_deref(), server.protocol.as_deref(), Some(server.transport)];
        let about: Vec<_> = about.into_iter().flatten().collect();
        writeln!(out, " ({})", one_line(&about.join(", ")))?;
        if let Some(reason) = &server.reason {
            writeln!(out, "  {}", one_line(reason))?;
        }
        if let Some(confinement) = &server.confinement {
            writeln!(out, "  in a sandbox")?;
            confinement.confined.iter().try_for_each(|line| writeln!(out, "    {line}"))?;
            confinement.open.iter().try_for_each(|line| writeln!(out, "    not confined: {line}"))?;
        }
        let counts = server.counts;
        if server.phase.is_up() {
            let tools: Vec<_> = self.tools_of(server).map(one_line).collect();
            write!(out, "  {} of {} published", tools.len(), count(counts.tools_listed, "tool"))?;
            if counts.tools_filtered > 0 {
                write!(out, ", {} left out by the config", counts.tools_filtered)?;
            }
            writeln!(out)?;
            for tool in tools {
                writeln!(out, "    {tool}")?;
            }
        }
        for item in &server.withheld {
            let by = item.policy.as_ref().map_or_else(String::new, |policy| format!(" by {policy}"));
            let detail = if item.detail.is_empty() { String::new() } else { format!(": {}", one_line(&item.detail)) };
            writeln!(out, "  withheld {} {} ({}{by}){detail}", item.kind.as_str(), one_line(&item.name), item.code)?;
        }
        if self.passages_of(server).next().is_some() {
            writeln!(out, "  gates")?;
        }
        passages::write_text(self.passages_of(server), out)
    }
}

impl Report for Survey {
    fn to_value(&self) -> Value {
        object! {
            "ok" => self.all_ready(),
            "safe_mode" => self.status.safe_mode,
            "servers" => self.status.servers.iter().map(|server| self.server_to_value(server)).collect::<Vec<_>>(),
            "policies" => self.policies.iter().map(PolicyLine::to_value).collect::<Vec<_>>(),
        }
        .into()
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.status.safe_mode {
            writeln!(out, "safe mode: every server is off")?;
        }
        for server in &self.status.servers {
            self.write_server(server, out)?;
        }
        for policy in self.policies.iter().filter(|policy| policy.is_remarkable()) {
            policy.write_remark(out)?;
        }
        Ok(())
    }
}
