//! What many connections leave behind, counted in a process of its own: here other tests run at the same time.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};

use crate::support::{connect, is_alive};

const RECONNECTS: usize = 200;
/// What an ended server leaves is cleared away by tasks of its own.
const CLEARED: Duration = Duration::from_secs(20);

pub(crate) fn trials() -> Vec<Trial> {
    vec![Trial::test("two_hundred_reconnects_leave_no_descriptor_and_no_process", || {
        let program = std::env::current_exe()?;
        let output = Command::new(program).arg("leaks").output()?;
        if output.status.success() { Ok(()) } else { Err(Failed::from(String::from_utf8_lossy(&output.stderr))) }
    })]
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Returns how many children this process has, those included that ended and were not waited for.
fn children() -> usize {
    let own = std::process::id().to_string();
    let is_child = |status: &String| status.lines().any(|line| line.strip_prefix("PPid:\t") == Some(own.as_str()));
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter_map(|process| std::fs::read_to_string(process.path().join("status")).ok()).filter(is_child).count()
}

/// Connects, and ends the connection in each of the ways in which one ends.
async fn reconnect(number: usize) -> String {
    let server = connect("normal").await;
    let pid = server.text("pid").await;
    match number % 3 {
        0 => server.upstream.shutdown().await,
        1 => drop(server),
        _ => assert!(server.call("crash").await.is_err()),
    }
    pid
}

pub(crate) fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        // What the runtime and the supervisor keep for good is there after the first ones.
        for number in 0..3 {
            reconnect(number).await;
        }
        settle(usize::MAX).await;
        let before = descriptors();
        let mut pids = Vec::new();
        for number in 0..RECONNECTS {
            pids.push(reconnect(number).await);
        }
        settle(before).await;
        let (after, children) = (descriptors(), children());
        let alive = pids.iter().filter(|pid| is_alive(pid)).count();
        eprintln!("descriptors: {before} before, {after} after; children: {children}; servers alive: {alive}");
        if after > before || children > 0 || alive > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    })
}

/// Waits a while until no child is left and no more descriptors are open than that.
async fn settle(most: usize) {
    let until = Instant::now() + CLEARED;
    while Instant::now() < until && (children() > 0 || descriptors() > most) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
