//! `container-escape`

use portcullis_sdk::Severity;

use super::{Context, Hits, RuleSpec};

/// # What it does
/// Looks for containers that get the machine: all rights, its process table, its devices, the root of its files, or the socket of
/// the container service itself.
///
/// # Why
/// A container that can do this holds nothing in. Of more than a thousand published entries none needs it.
///
/// # Example
/// ```yaml
/// command: docker
/// args: [run, -i, --rm, -v, "/:/host", some/image]
/// ```
pub(super) const RULE: RuleSpec = RuleSpec {
    id: "container-escape",
    summary: "A container that gets the machine it runs on.",
    severity: Severity::High,
    check,
};

fn check(context: &Context<'_>, hits: &mut Hits) {
    let containers =
        context.behaviour.programs.iter().filter(|program| context.tables.programs.containers.contains(&program.name));
    for program in containers {
        let mut words = program.arguments.iter().peekable();
        while let Some(word) = words.next() {
            let (option, attached) =
                word.split_once('=').map_or((word.as_str(), None), |(option, value)| (option, Some(value)));
            let value = attached.or_else(|| words.peek().map(|next| next.as_str())).unwrap_or_default().to_lowercase();
            if let Some(message) = problem(option, &value) {
                hits.ask(message, word);
            }
            if matches!(option, "--network" | "--net") && value == "host" {
                hits.flag("the container shares the network of this machine", word);
            }
        }
    }
}

fn problem(option: &str, value: &str) -> Option<String> {
    let capabilities =
        ["sys_admin", "all", "sys_ptrace", "sys_module", "sys_rawio", "dac_read_search", "net_admin", "bpf"];
    match option {
        "--privileged" if value != "false" => Some("the container gets all rights".to_owned()),
        "--pid" | "--ipc" | "--uts" | "--userns" | "--cgroupns" if value == "host" => {
            Some(format!("the container shares `{}` with this machine", option.trim_start_matches('-')))
        }
        "--cap-add" if capabilities.contains(&value.trim_start_matches("cap_")) => {
            Some(format!("the container gets the right `{value}`"))
        }
        "--security-opt" if value.contains("unconfined") || value.contains("disable") => {
            Some("the container runs without the usual confinement".to_owned())
        }
        "--device"
            if ["/dev/mem", "/dev/kmem", "/dev/sd", "/dev/nvme", "/dev/vd", "/dev/dm-", "/dev/disk", "/dev/kvm"]
                .iter()
                .any(|device| value.starts_with(device)) =>
        {
            Some("the container gets a device with everything on it".to_owned())
        }
        "-H" | "--host" if value.contains("://") => Some("the container runs on another machine".to_owned()),
        "-v" | "--volume" | "--mount" => mount(value),
        _ => None,
    }
}

fn mount(value: &str) -> Option<String> {
    if value.contains("docker.sock")
        || value.contains("containerd.sock")
        || value.contains("podman.sock")
        || value.contains("crio.sock")
    {
        return Some("the container gets the socket of the container service".to_owned());
    }
    let source = value.split(',').find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")));
    let source = source.unwrap_or_else(|| value.split(':').next().unwrap_or_default());
    let source = if source.len() > 1 { source.trim_end_matches('/') } else { source };
    let whole = ["/", "", "/etc", "/root", "/proc", "/sys", "/var/run", "/run", "/boot", "/dev", "c"];
    let drive = value.starts_with("c:\\:") || value.starts_with("c:/:");
    let rooted = value.starts_with('/') || value.contains("source=") || value.contains("src=");
    ((rooted && whole.contains(&source)) || drive)
        .then(|| format!("the container gets the folder `{source}` of this machine"))
}
