//! Objects that keep the order of their members.

use super::Value;

/// A JSON object. Members keep their order; keys are unique.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    members: Vec<(String, Value)>,
}

impl Object {
    /// Returns an empty object.
    pub const fn new() -> Self {
        Self { members: Vec::new() }
    }

    /// Wraps members whose keys are known to be unique.
    pub(super) fn from_unique(members: Vec<(String, Value)>) -> Self {
        Self { members }
    }

    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns true where there is no member.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the value of a member.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.members.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the value of a member for writing.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.members.iter_mut().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns true where the member exists.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Sets a member: in its place where it exists, else at the end. Returns the former value.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        if let Some(place) = self.get_mut(&key) {
            return Some(std::mem::replace(place, value));
        }
        self.members.push((key, value));
        None
    }

    /// Removes a member, keeping the order of the others.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let index = self.members.iter().position(|(name, _)| name == key)?;
        Some(self.members.remove(index).1)
    }

    /// Returns the members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.members.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the members in order, values for writing.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&str, &mut Value)> {
        self.members.iter_mut().map(|(key, value)| (key.as_str(), value))
    }

    /// Keeps the members for which `keep` is true, in order.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut Value) -> bool) {
        self.members.retain_mut(|(key, value)| keep(key, value));
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}
