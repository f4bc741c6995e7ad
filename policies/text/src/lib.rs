//! Reading text the way a model may read it: what is hidden in it, what it says once disguises are taken off, and
//! whether it says something that rules look for.
//!
//! Shared by the policies that judge foreign text. It knows nothing of gates, verdicts or the contract: everything
//! here works on `&str` and byte ranges. Every pass is linear in the length of the text, with the bounds named where
//! they are defined.
//!
//! | module | question |
//! | --- | --- |
//! | [`automaton`] | where do fixed texts stand? |
//! | [`hidden`] | which characters does a person not see? |
//! | [`normal`] | what do the letters say, look-alikes and entities resolved? |
//! | [`layer`] | which parts are texts in another encoding? |
//! | [`rules`] | which rules of a pack match, and where? |

#![forbid(unsafe_code)]

pub mod automaton;
pub mod fold;
pub mod hidden;
pub mod layer;
pub mod normal;
pub mod rules;
