//! Which keys the operator trusts, and for what.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use portcullis_model::{GateName, PolicyName};

use crate::key::PublicKey;
use crate::signature::{Parsed, SignatureError};

/// So many patterns may one key have: each is a vendor's prefix or the name of a policy.
const MOST_PATTERNS: usize = 256;

/// A pattern has so many bytes at most: names of policies have no more.
const LONGEST_PATTERN: usize = 256;

/// A text is no pattern of names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamesError {
    /// There is none.
    #[error("it names no policy: a key vouches for nothing then; hint: `names: [\"acme-*\"]`")]
    Empty,
    /// There are too many, or one is too long.
    #[error("there are more than {MOST_PATTERNS} patterns, or one has more than {LONGEST_PATTERN} bytes")]
    TooMany,
    /// One is no pattern.
    #[error("`{pattern}` is no pattern of names")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        #[source]
        source: globset::Error,
    },
}

/// Names of policies, by patterns: `*` stands for any characters, `?` for one, `{a,b}` for either.
#[derive(Clone, Debug)]
pub struct Names {
    patterns: Vec<String>,
    set: GlobSet,
}

impl PartialEq for Names {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Names {
    /// Parses patterns. There must be one at least.
    pub fn parse<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, NamesError> {
        let patterns: Vec<String> = patterns.into_iter().take(MOST_PATTERNS + 1).map(str::to_owned).collect();
        if patterns.is_empty() {
            return Err(NamesError::Empty);
        }
        if patterns.len() > MOST_PATTERNS || patterns.iter().any(|pattern| pattern.len() > LONGEST_PATTERN) {
            return Err(NamesError::TooMany);
        }
        let mut set = GlobSetBuilder::new();
        for pattern in &patterns {
            let named = |source| NamesError::Pattern { pattern: pattern.clone(), source };
            set.add(GlobBuilder::new(pattern).build().map_err(named)?);
        }
        let all = patterns.join(", ");
        let set = set.build().map_err(|source| NamesError::Pattern { pattern: all, source })?;
        Ok(Self { patterns, set })
    }

    /// Returns true where one of the patterns fits.
    pub fn include(&self, name: &PolicyName) -> bool {
        self.set.is_match(name.as_str())
    }

    /// Returns the patterns as they were written.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// A key that the operator trusts, and for what.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustedKey {
    /// What the operator calls it.
    pub name: String,
    /// The key.
    pub key: PublicKey,
    /// The policies that it may ship, and bring packs for.
    pub names: Names,
    /// The gates at which those may judge; nothing means all.
    pub gates: Option<Vec<GateName>>,
    /// True where it may put a module in the place of one of the default bundle.
    pub may_loosen: bool,
}

/// A signature is good, and its key is not trusted for this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScopeError {
    /// The key may not ship a policy of that name.
    #[error("the key `{key}` is not trusted for the policy `{policy}`; hint: `names` of the key under `policies.keys`")]
    Name {
        /// What the operator calls the key.
        key: String,
        /// The policy.
        policy: PolicyName,
    },
    /// The key may not ship a policy of that gate.
    #[error(
        "the key `{key}` is not trusted for the {gate} gate, at which `{policy}` judges; hint: `gates` of the key under `policies.keys`"
    )]
    Gate {
        /// What the operator calls the key.
        key: String,
        /// The policy.
        policy: PolicyName,
        /// The gate.
        gate: GateName,
    },
}

impl TrustedKey {
    /// Checks that the key is trusted for a policy that judges at these gates.
    pub fn covers(&self, policy: &PolicyName, gates: &[GateName]) -> Result<(), ScopeError> {
        if !self.names.include(policy) {
            return Err(ScopeError::Name { key: self.name.clone(), policy: policy.clone() });
        }
        let outside = |gate: &&GateName| self.gates.as_ref().is_some_and(|gates| !gates.contains(gate));
        match gates.iter().find(outside) {
            Some(gate) => Err(ScopeError::Gate { key: self.name.clone(), policy: policy.clone(), gate: *gate }),
            None => Ok(()),
        }
    }
}

/// The keys that the operator trusts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trust {
    keys: Vec<TrustedKey>,
}

impl Trust {
    /// Trusts these keys.
    pub fn new(keys: Vec<TrustedKey>) -> Self {
        Self { keys }
    }

    /// Returns the keys.
    pub fn keys(&self) -> &[TrustedKey] {
        &self.keys
    }

    /// Returns the key that signed these bytes. Whether it may is another question: [`TrustedKey::covers`].
    pub fn signer(&self, bytes: &[u8], signature: &[u8]) -> Result<&TrustedKey, SignatureError> {
        self.signer_of(bytes, &Parsed::parse(signature)?)
    }

    /// Returns the key that signed these bytes as a file of this name. For files whose bytes do not say what they are for,
    /// such as settings: else the settings of one policy could be laid beside another.
    pub fn signer_of_file(&self, name: &str, bytes: &[u8], signature: &[u8]) -> Result<&TrustedKey, SignatureError> {
        let parsed = Parsed::parse(signature)?;
        let key = self.signer_of(bytes, &parsed)?;
        // Only now is it known that somebody who is trusted wrote the name.
        parsed.check_file(name)?;
        Ok(key)
    }

    fn signer_of(&self, bytes: &[u8], parsed: &Parsed) -> Result<&TrustedKey, SignatureError> {
        let mut changed = None;
        // Ids are short and chosen by whoever makes a key: two keys may have the same.
        for key in self.keys.iter().filter(|key| key.key.has_id(parsed.key_id)) {
            match key.key.verify_parsed(bytes, parsed) {
                Ok(()) => return Ok(key),
                Err(error) => changed = Some(error),
            }
        }
        Err(changed.unwrap_or_else(|| SignatureError::UnknownKey { id: format!("{:016X}", parsed.key_id) }))
    }
}
