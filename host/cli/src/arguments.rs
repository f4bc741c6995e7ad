//! The command line as it is written: nothing is resolved here, see [`crate::settings`].

mod approval;
mod catalog;
mod clients;
mod door;
mod evaluation;
pub(crate) mod journal;
pub(crate) mod login;
mod project;
mod servers;
mod shell;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use portcullis_mcp::Schemas;
use portcullis_model::GateName;

pub(crate) use approval::{Allow, Approvals, Grants, Passphrase, Revoke, ShowApproval};
pub(crate) use catalog::{Catalog, Install, ShowManifest};
pub(crate) use clients::{Export, Import};
#[cfg(unix)]
pub(crate) use door::Approve;
pub(crate) use door::{AddClient, Client, Consent, Mint, Serve, Token};
pub(crate) use evaluation::{Asked, By, PolicyEval};
pub(crate) use project::{PolicyBuild, PolicyCheck, PolicyNew, PolicyTest, PolicyWrap};
pub(crate) use servers::{Add, Call, Configure, Named, Transport};
pub(crate) use shell::{Completions, Man};

/// Stands between an AI agent and its MCP servers; every decision is made by a WebAssembly policy.
#[derive(Clone, Debug, PartialEq, Parser)]
#[command(name = "portcullis", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 what was checked does not hold, 2 usage, 3 config, 4 home folder or database, 5 policies,
6 gateway, 7 refused by a gate, 8 the tool answered with an error, 9 the server cannot be reached, 70 internal";

const HOME_HELP: &str =
    "Folder with config, policies, cache and journal [default: $PORTCULLIS_HOME, else ~/.portcullis]";
const LOG_HELP: &str =
    "What is logged, as `level` or `target=level,…` [default: $PORTCULLIS_LOG, else what the command needs]";

/// Options of every command.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct Global {
    #[arg(long, value_name = "DIR", global = true, help = HOME_HELP)]
    pub(crate) home: Option<PathBuf>,
    #[arg(long, value_name = "FILTER", global = true, help = LOG_HELP)]
    pub(crate) log: Option<String>,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum Command {
    /// Serves all servers of the config to one client over standard input and output
    Run(Run),
    /// Serves all servers of the config to any number of clients over HTTP
    Serve(Serve),
    /// Serves one server, named by its command, without a config
    Wrap(Wrap),
    /// Adds a server to the config, once the config gate has cleared it
    Add(Add),
    /// Removes a server from the config
    Remove(Named),
    /// Switches a server of the config on
    Enable(Named),
    /// Switches a server of the config off
    Disable(Named),
    /// Chooses which tools of a server are used
    Configure(Configure),
    /// Shows the servers that can be installed by name
    #[command(subcommand)]
    Catalog(Catalog),
    /// Installs a server of the catalog: shown first, screened, written, and started once to see its tools
    Install(Install),
    /// Takes over servers from the configs of other clients, once the config gate has cleared them
    Import(Import),
    /// Points a client at this gateway, and keeps its config as it was
    Export(Export),
    /// Starts all servers and shows what of them would be published, and what not and why
    List(Report),
    /// Starts one server and shows time, tools and what each gate said; fails if it is not ready
    Test(Test),
    /// Starts one server and calls one of its tools, through every gate
    Call(Call),
    /// Reads the config and shows what is wrong with it
    Check(Report),
    /// Shows all running gateways of the home: servers, what they were used for, policies, sessions
    #[cfg(unix)]
    Status(Format),
    /// Has all running gateways of the home look at their config now
    #[cfg(unix)]
    Reload(Format),
    /// Stops every server of the home, of gateways that run and of those that start later
    #[cfg(unix)]
    Stop(Format),
    /// Lets the servers run again
    #[cfg(unix)]
    Resume(Format),
    /// Serves an assistant over standard streams, so that it can watch sessions and answer what clients may
    #[cfg(unix)]
    Control(ConfigFile),
    /// Shows and answers the questions of running gateways
    #[cfg(unix)]
    #[command(subcommand)]
    Approvals(Approvals),
    /// Shows and takes back approvals that are remembered
    #[command(subcommand)]
    Grants(Grants),
    /// Shows, exports and checks the record of what the gates did
    #[command(subcommand)]
    Journal(journal::Journal),
    /// Judges recorded passages again, with the policies of now or another one, and shows what would be decided otherwise
    Replay(journal::Replay),
    /// Judges one recorded passage again, and shows which rule saw what, and what would change it
    Explain(journal::Explain),
    /// Shows, runs and measures policies
    #[command(subcommand)]
    Policy(Policy),
    /// Makes, shows and takes back the tokens that clients of `serve` have to show
    #[command(subcommand)]
    Token(Token),
    /// Registers OAuth clients of `serve`, and shows and ends what they hold
    #[command(subcommand)]
    Client(Client),
    /// Consents to an OAuth client whose page in the browser shows a code
    #[cfg(unix)]
    Approve(Approve),
    /// Looks at everything that a gateway needs, and says what is wrong and how to mend it
    Doctor(Report),
    /// Shows which variables a server gets, and why
    ExplainEnv(Named),
    /// Writes a script that completes this command line in a shell
    Completions(Completions),
    /// Writes the manual page
    Man(Man),
    /// Logs in at a server that wants OAuth; the former login counts until the new one is proven
    Login(login::Login),
    /// Logs in anew at one server, or at all that are logged in at
    Reauth(login::Reauth),
    /// Forgets the login at a server, and has it ended where that is possible
    Logout(login::Logout),
    /// Compiles all policies into the cache, so that the first start does not have to
    Warm(Report),
    /// Shows a misbehaving server being stopped, in a home folder of its own
    Demo(Demo),
    /// The servers of the demo
    #[command(hide = true)]
    DemoServer(DemoServer),
}

/// Where the config is.
#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct ConfigFile {
    /// Config file: YAML, or the JSON of a desktop client [default: config.yaml in the home folder]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// How the client is shown what servers list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Args)]
pub(crate) struct View {
    /// Form of the schemas of tools: as listed, or as model providers take them, for clients that hand them on as they are
    #[arg(long, value_enum, value_name = "FORM", default_value = "listed")]
    pub(crate) schemas: SchemaForm,
}

/// A form of schemas, as it is written on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaForm {
    #[default]
    Listed,
    Provider,
}

impl From<SchemaForm> for Schemas {
    fn from(form: SchemaForm) -> Self {
        match form {
            SchemaForm::Listed => Self::Listed,
            SchemaForm::Provider => Self::Provider,
        }
    }
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Args)]
pub(crate) struct Format {
    /// Prints one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) view: View,
}

#[derive(Clone, Debug, PartialEq, Args)]
#[command(override_usage = "portcullis wrap [OPTIONS] -- <CMD>...")]
pub(crate) struct Wrap {
    /// Variable of this process that the server gets, such as one of the client's `env`; may be given several times
    #[arg(long = "pass", value_name = "NAME")]
    pub(crate) pass: Vec<String>,
    #[command(flatten)]
    pub(crate) view: View,
    /// The command of the server and its arguments
    #[arg(value_name = "CMD", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Test {
    /// Name of the server in the config
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) report: Report,
}

#[derive(Clone, Debug, PartialEq, Subcommand)]
pub(crate) enum Policy {
    /// Shows the policies that would judge, and where each comes from
    List(Report),
    /// Shows what a policy says of itself, what it imports and which gates it has
    Inspect(Inspect),
    /// Lets a policy judge one subject and shows its verdict
    Run(PolicyRun),
    /// Measures how long a policy takes for one subject
    Bench(PolicyBench),
    /// Measures what policies find, rightly and wrongly, on files of labelled cases
    Eval(PolicyEval),
    /// Makes a key that signs policies, packs and bundles, in the format of minisign
    Keygen(Keygen),
    /// Signs files: modules, settings, packs
    Sign(Sign),
    /// Says whether the keys of the config vouch for files, and for what
    Verify(Verify),
    /// Puts the modules, settings and packs of a folder into one signed file
    Bundle(MakeBundle),
    /// Puts a module, pack or bundle into an OCI registry
    Push(Push),
    /// Gets a module, pack or bundle from an OCI registry, once a trusted key vouches for it
    Pull(Pull),
    /// Begins a policy: a folder that builds, with fixtures that hold
    New(PolicyNew),
    /// Makes the component of a policy's folder
    Build(PolicyBuild),
    /// Holds a component against its fixtures and the verdicts of before
    Test(PolicyTest),
    /// Checks what a component imports, says of itself and costs, before it is shipped
    Check(PolicyCheck),
    /// Writes the lines of the config that exempt one server from one rule of a policy, for some time
    Wrap(PolicyWrap),
    /// Shows what judges in running gateways, and what each policy went through before it did
    #[cfg(unix)]
    Status(Format),
    /// Lets a policy enforce that is in shadow or was rolled back, in running gateways
    #[cfg(unix)]
    Promote(MovePolicy),
    /// Puts the policy that judged before back in its place, at once, in running gateways until they end
    #[cfg(unix)]
    Rollback(MovePolicy),
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Inspect {
    /// Name of a policy of the bundle, or path of a component
    pub(crate) policy: String,
    #[command(flatten)]
    pub(crate) config: ConfigFile,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// What a policy judges.
#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Subject {
    /// Name of a policy of the bundle, or path of a component
    pub(crate) policy: String,
    /// The gate
    #[arg(long, value_enum, default_value = "result")]
    pub(crate) gate: Gate,
    /// JSON document that passes the gate: a server entry, an item, parameters, a result; `-` reads standard input
    #[arg(long, value_name = "FILE", default_value = "-")]
    pub(crate) document: PathBuf,
    /// Name of the server that it belongs to
    #[arg(long, value_name = "NAME", default_value = "server")]
    pub(crate) server: String,
    /// Name of the tool that it belongs to
    #[arg(long, value_name = "NAME", default_value = "tool")]
    pub(crate) tool: String,
    /// Settings of the policy, as a YAML or JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) settings: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct PolicyRun {
    #[command(flatten)]
    pub(crate) subject: Subject,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct PolicyBench {
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Another module to measure beside it, by name or path
    #[arg(long, value_name = "POLICY")]
    pub(crate) baseline: Option<String>,
    /// For so many seconds: as long for passages, for one core, and for two
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub(crate) seconds: u64,
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct Demo {
    #[command(flatten)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, PartialEq, Args)]
pub(crate) struct DemoServer {
    /// Which one
    pub(crate) name: String,
    /// Not read by the server: there to be recognised
    #[arg(long)]
    pub(crate) report_to: Option<String>,
}

/// A gate, as it is written on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Gate {
    Config,
    Environment,
    Listing,
    Call,
    Result,
    Request,
}

impl From<Gate> for GateName {
    fn from(gate: Gate) -> Self {
        match gate {
            Gate::Config => Self::Config,
            Gate::Environment => Self::Environment,
            Gate::Listing => Self::Listing,
            Gate::Call => Self::Call,
            Gate::Result => Self::Result,
            Gate::Request => Self::Request,
        }
    }
}

mod shipping;

#[cfg(unix)]
pub(crate) use shipping::MovePolicy;
pub(crate) use shipping::{Keygen, MakeBundle, Pull, Push, RegistryAccess, SecretKeyFile, Sign, Verify};

#[cfg(test)]
mod tests;
