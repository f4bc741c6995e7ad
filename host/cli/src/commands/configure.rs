//! `portcullis configure`: which tools of a server are used.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use portcullis_config::{ServerOptions, ToolFilter};
use portcullis_mcp::status::ServerStatus;
use portcullis_registry::Filter;

use crate::arguments::Configure;
use crate::commands::list;
use crate::commands::switch::Changed;
use crate::config_file::ConfigEdit;
use crate::failure::{OrExit as _, one_line};
use crate::settings::Settings;
use crate::{Exit, Failure, report, terminal};

/// Sets which tools of a server are used: by globs, or by a choice at the terminal.
pub(crate) fn run(settings: &Settings, configure: &Configure) -> Result<Exit, Failure> {
    let named = &configure.server;
    let mut edit = ConfigEdit::open(settings, &named.config)?;
    if edit.text.server(&named.name).is_none() {
        return Err(edit.unknown(&named.name));
    }
    let (include, exclude) = if !configure.include.is_empty() {
        (Some(configure.include.clone()), None)
    } else if !configure.exclude.is_empty() {
        (None, Some(configure.exclude.clone()))
    } else if configure.all {
        (None, None)
    } else {
        match choose(settings, configure)? {
            Choice::All => (None, None),
            Choice::Some(chosen) => (Some(chosen), None),
            Choice::Nothing => {
                report::print(&changed(configure, &edit, false), named.format)?;
                return Ok(Exit::Success);
            }
        }
    };
    let before = edit.text.clone();
    let filtered = edit.text.filter_tools(&named.name, include.as_deref(), exclude.as_deref());
    filtered.or_exit(Exit::Config, "changing the config")?;
    let is_changed = edit.text != before;
    if is_changed {
        edit.save()?;
    }
    report::print(&changed(configure, &edit, is_changed), named.format)?;
    Ok(Exit::Success)
}

fn changed<'a>(configure: &'a Configure, edit: &ConfigEdit, changed: bool) -> Changed<'a> {
    Changed { name: &configure.server.name, path: edit.path(), done: "configured", is_new: changed }
}

/// What was chosen at the terminal.
enum Choice {
    All,
    Some(Vec<String>),
    Nothing,
}

fn choose(settings: &Settings, configure: &Configure) -> Result<Choice, Failure> {
    let named = &configure.server;
    if !terminal::is_there() {
        return Err(Failure::new(Exit::Usage, "nobody is at a terminal to choose")
            .hint("say what is used with `--include GLOB`, `--exclude GLOB` or `--all`"));
    }
    let (_, mut config) = settings.read_config(&named.config)?;
    config.servers.retain(|server| server.name().as_str() == named.name);
    let Some(server) = config.servers.first_mut() else {
        return Err(Failure::new(Exit::Config, format!("the config of `{}` has errors", one_line(&named.name)))
            .hint("`portcullis check` shows where"));
    };
    let used = server.options.filter.clone();
    let all = ToolFilter { include: None, exclude: Vec::new(), ..used.clone() };
    server.options = ServerOptions { enabled: true, lazy: false, filter: all, ..server.options.clone() };
    let survey = list::survey(settings, &config, named.format)?;
    let Some(status) = survey.status.servers.first().filter(|status| status.phase.is_up()) else {
        let reason = survey.status.servers.first().and_then(|status| status.reason.clone()).unwrap_or_default();
        return Err(Failure::new(Exit::Unreachable, format!("`{}` does not run: {}", named.name, one_line(&reason)))
            .hint("say what is used with `--include GLOB`, `--exclude GLOB` or `--all`"));
    };
    let listed = listed(&survey, status);
    let used = Filter::new(&used);
    let chosen = listed.iter().enumerate().filter(|(_, name)| used.keeps(name)).map(|(index, _)| index);
    let chosen = chosen.collect();
    checklist(&listed, chosen)
}

/// Returns the server's own names of all that it lists, what the gates withhold included.
fn listed(survey: &list::Survey, status: &ServerStatus) -> Vec<String> {
    let published = survey.own_names.iter().map(String::as_str);
    let withheld = status.withheld.iter().filter(|item| item.kind == portcullis_model::ItemKind::Tool);
    let names: BTreeSet<&str> = published.chain(withheld.map(|item| item.name.as_str())).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn checklist(names: &[String], mut chosen: BTreeSet<usize>) -> Result<Choice, Failure> {
    let before = chosen.clone();
    loop {
        let mut err = io::stderr().lock();
        for (index, name) in names.iter().enumerate() {
            let mark = if chosen.contains(&index) { 'x' } else { ' ' };
            let _unwritable = writeln!(err, "{:>4} [{mark}] {}", index + 1, one_line(name));
        }
        drop(err);
        let line = terminal::ask_line(
            "numbers or ranges switch (3 5-8), a: all, n: none, Enter: save, q: leave as it was > ",
        )?;
        match line.as_str() {
            "" => break,
            "q" => return Ok(Choice::Nothing),
            "a" => chosen = (0..names.len()).collect(),
            "n" => chosen.clear(),
            numbers => switch(numbers, names.len(), &mut chosen),
        }
    }
    if chosen == before {
        return Ok(Choice::Nothing);
    }
    if chosen.len() == names.len() {
        return Ok(Choice::All);
    }
    Ok(Choice::Some(chosen.iter().filter_map(|index| names.get(*index).cloned()).collect()))
}

/// Switches what is named by numbers from 1 and ranges of them. What is no number of the list is passed over.
fn switch(numbers: &str, count: usize, chosen: &mut BTreeSet<usize>) {
    for word in numbers.split([' ', ',']).filter(|word| !word.is_empty()) {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else {
            continue;
        };
        for index in first.max(1)..=last.min(count) {
            if !chosen.remove(&(index - 1)) {
                chosen.insert(index - 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_switch_what_they_name_and_nothing_else() {
        let mut chosen = BTreeSet::from([0, 1]);
        switch("2, 4-99 x 0 3-1 -", 5, &mut chosen);
        assert_eq!(chosen, BTreeSet::from([0, 3, 4]));
    }
}
