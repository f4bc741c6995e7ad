//! The switch that stops every server of a home: a file, so that it also holds for gateways that start later, and so that
//! it can be set where no program of ours runs.

use std::io;
use std::path::PathBuf;

use portcullis_config::Config;
use portcullis_store::Home;

/// The file in the home. What is in it is for people.
const FILE: &str = "stopped";

/// What the state of a gateway says while it is stopped.
pub(crate) const NOTE: &str = "stopped by the operator: no server runs until `portcullis resume`";

/// Returns the file that is the switch.
pub(crate) fn file(home: &Home) -> PathBuf {
    home.path().join(FILE)
}

/// Returns true where the servers of a home are stopped. A file that cannot be looked at is taken to be there.
pub(crate) fn is_set(home: &Home) -> bool {
    match std::fs::symlink_metadata(file(home)) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Stops the servers of a home.
pub(crate) fn set(home: &Home) -> io::Result<()> {
    std::fs::write(file(home), "`portcullis resume` removes this file; then servers run again.\n")
}

/// Lets the servers of a home run again. Returns whether they were stopped.
pub(crate) fn remove(home: &Home) -> io::Result<bool> {
    match std::fs::remove_file(file(home)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Returns a config with every server switched off. One whose entry has a mistake is left out of it, so that it does not
/// go on as it was.
pub(crate) fn without_servers(config: &Config) -> Config {
    let mut config = config.clone();
    config.servers.iter_mut().for_each(|server| server.options.enabled = false);
    config.left_out.clear();
    config
}

#[cfg(test)]
mod tests {
    use portcullis_config::Surroundings;
    use portcullis_model::Origin;

    use super::*;

    #[test]
    fn the_switch_is_a_file_of_the_home_whatever_it_is_made_of() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        assert!(!is_set(&home));
        assert!(!remove(&home).unwrap());
        set(&home).unwrap();
        set(&home).unwrap();
        assert!(is_set(&home));
        assert!(remove(&home).unwrap());
        assert!(!is_set(&home));
        std::fs::create_dir(file(&home)).unwrap();
        assert!(is_set(&home), "a folder of that name was made by somebody who wanted it");
        assert!(remove(&home).is_err(), "and is not removed with what may be in it");
    }

    #[test]
    fn no_server_of_a_stopped_config_runs_not_even_one_with_a_mistake() {
        let text = "mcp_servers:\n  one: {command: one}\n  two: {command: two, lazy: true}\n  three: {command: [3]}\n";
        let config = Config::parse(text, "test.yaml", Origin::ConfigFile, &Surroundings::new(|_| None));
        assert_eq!((config.servers.len(), config.left_out.len()), (2, 1));
        let stopped = without_servers(&config);
        assert!(stopped.servers.iter().all(|server| !server.options.enabled) && stopped.left_out.is_empty());
    }
}
