//! From the arguments of the process to its exit code.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, Command, Grants, Policy};
#[cfg(unix)]
use crate::control_server;
use crate::settings::Settings;
use crate::telemetry::{self, Manner};
use crate::{Exit, Failure, commands, demo};

/// Runs the program: what `main` of a binary calls, first thing.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Before anything opens a file or starts a thread: the supervisor closes every descriptor that it does not know.
    #[cfg(unix)]
    if arguments.get(1).is_some_and(|command| command == "supervise") {
        return portcullis_supervisor::run(arguments.into_iter().skip(2));
    }
    #[cfg(unix)]
    portcullis_supervisor::return_large_blocks();
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help goes to standard output and is a success; mistakes go to standard error.
            let _unwritable = error.print();
            return if error.use_stderr() { Exit::Usage } else { Exit::Success }.into();
        }
    };
    // The panic itself was told on standard error already.
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| run(arguments)));
    match outcome {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => {
            let _unwritable = writeln!(io::stderr(), "{failure}");
            failure.exit().into()
        }
        Err(_) => Exit::Internal.into(),
    }
}

fn run(arguments: Arguments) -> Result<Exit, Failure> {
    if let Command::DemoServer(server) = &arguments.command {
        // Started with the environment that a server gets, which may lack everything.
        return demo::server::serve(&server.name);
    }
    let settings = Settings::resolve(&arguments.global, |name| std::env::var_os(name))?;
    let reporting = || telemetry::start(Manner::Reporting, settings.log.as_deref(), None);
    match arguments.command {
        Command::Run(run) => commands::serve::run(&settings, &run),
        Command::Serve(serve) => commands::http::serve(&settings, &serve),
        Command::Wrap(wrap) => commands::serve::wrap(&settings, &wrap),
        Command::List(list) => reporting().and_then(|()| commands::list::list(&settings, &list)),
        Command::Test(test) => reporting().and_then(|()| commands::list::test(&settings, &test)),
        Command::Add(add) => reporting().and_then(|()| commands::add::run(&settings, &add)),
        Command::Remove(named) => reporting().and_then(|()| commands::switch::remove(&settings, &named)),
        Command::Enable(named) => reporting().and_then(|()| commands::switch::enable(&settings, &named)),
        Command::Disable(named) => reporting().and_then(|()| commands::switch::disable(&settings, &named)),
        Command::Configure(configure) => reporting().and_then(|()| commands::configure::run(&settings, &configure)),
        Command::Catalog(catalog) => reporting().and_then(|()| commands::catalog::run(&settings, &catalog)),
        Command::Install(install) => reporting().and_then(|()| commands::install::run(&settings, &install)),
        Command::Doctor(doctor) => reporting().and_then(|()| commands::doctor::run(&settings, &doctor)),
        Command::ExplainEnv(named) => reporting().and_then(|()| commands::explain_env::run(&settings, &named)),
        Command::Completions(completions) => commands::shell::completions(&completions),
        Command::Man(man) => commands::shell::man(&man),
        Command::Import(import) => reporting().and_then(|()| commands::import::run(&settings, &import)),
        Command::Export(export) => reporting().and_then(|()| commands::export::run(&settings, &export)),
        Command::Call(call) => reporting().and_then(|()| commands::call::run(&settings, &call)),
        Command::Check(check) => reporting().and_then(|()| commands::check::run(&settings, &check)),
        #[cfg(unix)]
        Command::Status(format) => reporting().and_then(|()| commands::status::run(&settings, format)),
        #[cfg(unix)]
        Command::Reload(format) => reporting().and_then(|()| commands::control::reload(&settings, format)),
        #[cfg(unix)]
        Command::Stop(format) => reporting().and_then(|()| commands::control::stop(&settings, format)),
        #[cfg(unix)]
        Command::Resume(format) => reporting().and_then(|()| commands::control::resume(&settings, format)),
        #[cfg(unix)]
        Command::Control(config) => reporting().and_then(|()| control_server::run(&settings, &config)),
        #[cfg(unix)]
        Command::Approvals(approvals) => reporting().and_then(|()| commands::approvals::run(&settings, &approvals)),
        Command::Grants(grants) => reporting().and_then(|()| match &grants {
            Grants::List(list) => commands::grants::list(&settings, list),
            Grants::Revoke(revoke) => commands::grants::revoke(&settings, revoke),
        }),
        Command::Journal(journal) => reporting().and_then(|()| commands::journal::run(&settings, &journal)),
        Command::Replay(replay) => reporting().and_then(|()| commands::replay::replay(&settings, &replay)),
        Command::Explain(explain) => reporting().and_then(|()| commands::replay::explain(&settings, &explain)),
        Command::Policy(policy) => reporting().and_then(|()| run_policy(&settings, &policy)),
        Command::Token(token) => reporting().and_then(|()| commands::token::run(&settings, &token)),
        Command::Client(client) => reporting().and_then(|()| commands::client::run(&settings, &client)),
        #[cfg(unix)]
        Command::Approve(approve) => reporting().and_then(|()| commands::approve::run(&settings, &approve)),
        Command::Login(login) => reporting().and_then(|()| commands::login::login(&settings, &login)),
        Command::Reauth(reauth) => reporting().and_then(|()| commands::login::reauth(&settings, &reauth)),
        Command::Logout(logout) => reporting().and_then(|()| commands::logout::run(&settings, &logout)),
        Command::Warm(warm) => reporting().and_then(|()| commands::warm::warm(&settings, &warm)),
        Command::Demo(demo) => commands::demo::run(&demo),
        Command::DemoServer(server) => demo::server::serve(&server.name),
    }
}

fn run_policy(settings: &Settings, policy: &Policy) -> Result<Exit, Failure> {
    match policy {
        Policy::List(list) => commands::warm::list(settings, list),
        Policy::Inspect(inspect) => commands::policy::inspect::run(settings, inspect),
        Policy::Wrap(wrap) => commands::policy::wrap::run(settings, wrap),
        Policy::Run(run) => commands::policy::run::run(settings, run),
        Policy::Bench(bench) => commands::policy::bench::run(settings, bench),
        Policy::Eval(eval) => commands::policy::eval::run(settings, eval),
        Policy::Keygen(keygen) => commands::policy::keygen::run(keygen),
        Policy::Sign(sign) => commands::policy::sign::run(sign),
        Policy::Verify(verify) => commands::policy::verify::run(settings, verify),
        Policy::Bundle(bundle) => commands::policy::bundle::run(bundle),
        Policy::Push(push) => commands::policy::push::run(push),
        Policy::Pull(pull) => commands::policy::pull::run(settings, pull),
        Policy::New(new) => commands::policy::new::run(new),
        Policy::Build(build) => commands::policy::build::run(settings, build),
        Policy::Test(test) => commands::policy::test::run(settings, test),
        Policy::Check(check) => commands::policy::check::run(settings, check),
        #[cfg(unix)]
        Policy::Status(format) => commands::policy::status::status(settings, *format),
        #[cfg(unix)]
        Policy::Promote(policy) => commands::policy::status::promote(settings, policy),
        #[cfg(unix)]
        Policy::Rollback(policy) => commands::policy::status::rollback(settings, policy),
    }
}
