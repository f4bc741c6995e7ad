//! `approvals`: who is asked, and for how long.

use std::time::Duration;

use crate::fields::Fields;
use crate::key_path::KeyPath;
use crate::sink::Sink;
use crate::tree::Node;

/// What an operator proves besides being the same user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OperatorProof {
    /// Nothing.
    #[default]
    None,
    /// That they sit at a terminal of another session than the gateway's.
    Terminal,
    /// That they know the passphrase of the home.
    Passphrase,
}

const PROOFS: [(&str, OperatorProof); 3] =
    [("none", OperatorProof::None), ("terminal", OperatorProof::Terminal), ("passphrase", OperatorProof::Passphrase)];

/// Who is asked, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approvals {
    /// False where the client is never asked.
    pub client: bool,
    /// False where no other terminal can answer: no gateway listens for operators then.
    pub operator: bool,
    /// What an operator proves besides being the same user.
    pub proof: OperatorProof,
    /// Longest wait for an answer.
    pub timeout: Duration,
    /// Most questions of one principal that wait at a time.
    pub waiting: u64,
    /// How long an approval holds that was given for always.
    pub expire: Duration,
    /// Names of clients that are known to answer by themselves, which are never asked. Besides those that are built in.
    pub auto_answerers: Vec<String>,
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            client: true,
            operator: true,
            proof: OperatorProof::None,
            timeout: Duration::from_mins(5),
            waiting: 32,
            expire: Duration::from_hours(90 * 24),
            auto_answerers: Vec::new(),
        }
    }
}

/// Returns that many days, ten years at most.
fn days(count: u64) -> Duration {
    Duration::from_hours(count.min(3_650) * 24)
}

/// Reads `approvals`.
pub(crate) fn read(node: &Node, path: &KeyPath, sink: &mut Sink) -> Approvals {
    let defaults = Approvals::default();
    let mut fields = Fields::new(node, path.clone(), sink);
    let approvals = Approvals {
        client: fields.boolish("client").unwrap_or(defaults.client),
        operator: fields.boolish("operator").unwrap_or(defaults.operator),
        proof: fields.choice("proof", &PROOFS).unwrap_or(defaults.proof),
        timeout: fields.seconds("timeout").unwrap_or(defaults.timeout),
        waiting: fields.count("waiting", 1).unwrap_or(defaults.waiting),
        expire: fields.count("expire_days", 1).map_or(defaults.expire, days),
        auto_answerers: fields.texts("auto_answerers").unwrap_or_default(),
    };
    // A switch of the reference client that has no counterpart here.
    let _: Option<_> = fields.raw("mcp_reload_confirm");
    fields.finish();
    approvals
}
