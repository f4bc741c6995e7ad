//! Programs that run another program which their arguments name.

use crate::shell::Word;

/// How a wrapper's own arguments end.
struct Wrapper {
    name: &'static str,
    /// Options that take the next argument as their value.
    valued: &'static [&'static str],
    /// Arguments before the program that are no options.
    skipped: usize,
}

const fn wrapper(name: &'static str, valued: &'static [&'static str], skipped: usize) -> Wrapper {
    Wrapper { name, valued, skipped }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("env", &["-u", "--unset", "-C", "--chdir", "-P"], 0),
    wrapper("sudo", &["-u", "-g", "-h", "-p", "-C", "-r", "-t", "-T", "-U", "-D", "-R", "--user", "--group"], 0),
    wrapper("doas", &["-u", "-C"], 0),
    wrapper("pkexec", &["--user"], 0),
    wrapper("su", &["-s", "-g", "-G", "-w"], 1),
    wrapper("runuser", &["-u", "-s", "-g", "-G"], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("exec", &["-a"], 0),
    wrapper("command", &[], 0),
    wrapper("builtin", &[], 0),
    wrapper("eval", &[], 0),
    wrapper("time", &["-f", "-o"], 0),
    wrapper("timeout", &["-s", "--signal", "-k", "--kill-after"], 1),
    wrapper("nice", &["-n", "--adjustment"], 0),
    wrapper("ionice", &["-c", "-n", "-p"], 0),
    wrapper("chrt", &["-T", "-P", "-D"], 1),
    wrapper("taskset", &[], 1),
    wrapper("numactl", &[], 0),
    wrapper("stdbuf", &["-i", "-o", "-e"], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("xargs", &["-I", "-n", "-P", "-L", "-d", "-a", "-E", "-s", "--max-args", "--max-procs"], 0),
    wrapper("parallel", &["-j", "--jobs"], 0),
    wrapper("watch", &["-n", "--interval"], 0),
    wrapper("strace", &["-o", "-e", "-p", "-s"], 0),
    wrapper("ltrace", &["-o", "-e"], 0),
    wrapper("flock", &["-w", "-E"], 1),
    wrapper("systemd-run", &["-p", "--property", "-u", "--unit", "-M", "--machine", "-H", "--host", "-E"], 0),
    wrapper("chroot", &["--userspec", "--groups"], 1),
    wrapper("unshare", &[], 0),
    wrapper("nsenter", &["-t", "--target"], 0),
    wrapper("firejail", &[], 0),
    wrapper("bwrap", &["--bind", "--ro-bind", "--dev", "--proc", "--tmpfs", "--setenv", "--chdir"], 0),
    wrapper("proot", &["-r", "-b", "-w"], 0),
    wrapper("fakeroot", &[], 0),
    wrapper("dbus-run-session", &[], 0),
    wrapper("xvfb-run", &["-s", "-n", "-e", "-f"], 0),
    wrapper("catchsegv", &[], 0),
    wrapper("caffeinate", &["-t", "-w"], 0),
    wrapper("arch", &[], 0),
    wrapper("setarch", &[], 1),
    wrapper("rlwrap", &[], 0),
    wrapper("winpty", &[], 0),
    wrapper("wsl", &["-d", "--distribution", "-u", "--user", "--cd"], 0),
    wrapper("start", &[], 0),
    wrapper("busybox", &[], 0),
    wrapper("toybox", &[], 0),
    wrapper("dotenv", &["-f", "-e", "-c"], 0),
    wrapper("dotenvx", &["-f", "--env-file"], 1),
    wrapper("op", &["--env-file"], 1),
    wrapper("doppler", &["-p", "-c", "--project", "--config"], 1),
    wrapper("infisical", &["--env", "--projectId"], 1),
    wrapper("direnv", &[], 2),
    wrapper("mise", &[], 1),
    wrapper("poetry", &["-C", "--directory"], 1),
    wrapper("pipenv", &[], 1),
    wrapper("conda", &["-n", "--name", "-p", "--prefix"], 1),
    wrapper("micromamba", &["-n", "--name", "-p", "--prefix"], 1),
    wrapper("entr", &[], 0),
    wrapper("ssh-agent", &["-a", "-t"], 0),
    wrapper("trap", &[], 0),
];

/// Returns the program that a wrapper runs, and its arguments.
pub(super) fn unwrap(name: &str, arguments: &[Word]) -> Option<Vec<Word>> {
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut words = arguments.iter();
    let mut skipped = 0;
    let mut rest = Vec::new();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if text == "--" {
            rest.extend(words.by_ref().cloned());
            break;
        }
        if text.starts_with('-') && text.len() > 1 {
            if wrapper.valued.contains(&text) {
                words.next();
            }
            continue;
        }
        let assignment = text.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
        });
        if assignment && matches!(name, "env" | "sudo" | "doas") {
            continue;
        }
        if skipped < wrapper.skipped {
            skipped += 1;
            continue;
        }
        rest.push(word.clone());
        rest.extend(words.by_ref().cloned());
    }
    (!rest.is_empty()).then_some(rest)
}
