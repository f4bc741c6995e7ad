//! What `wit-bindgen` generates from the contract, one module a gate.
//!
//! Private in spirit: public only because [`export!`](crate::export) expands to paths into it. A world for each gate, without
//! `lifecycle`, so that a policy of several gates exports `lifecycle` once and nothing that it does not name.

pub use wit_bindgen::rt;

/// The imports and `lifecycle`.
#[allow(clippy::all, clippy::pedantic, clippy::restriction, missing_docs, unreachable_pub, reason = "generated code")]
pub mod base {
    wit_bindgen::generate!({
        path: "../../wit/v0.1",
        world: "portcullis:policy/base",
        pub_export_macro: true,
        default_bindings_module: "portcullis_sdk::bindings::base",
        runtime_path: "portcullis_sdk::bindings::rt",
        generate_unused_types: true,
        additional_derives: [PartialEq],
    });
}

macro_rules! gate {
    ($module:ident, $world:literal, $default:literal, $($interface:literal => $types:path),+) => {
        /// One gate.
        #[allow(
            clippy::all,
            clippy::pedantic,
            clippy::restriction,
            missing_docs,
            unreachable_pub,
            reason = "generated code"
        )]
        pub mod $module {
            wit_bindgen::generate!({
                inline: $world,
                path: "../../wit/v0.1",
                pub_export_macro: true,
                default_bindings_module: $default,
                runtime_path: "portcullis_sdk::bindings::rt",
                with: { $($interface: $types),+ },
                additional_derives: [PartialEq],
            });
        }
    };
}
gate!(
    config,
    "package portcullis:sdk-config; world sdk-config { export portcullis:policy/config-gate@0.1.0; }",
    "portcullis_sdk::bindings::config",
    "portcullis:policy/types@0.1.0" => crate::bindings::base::portcullis::policy::types
);
gate!(
    listing,
    "package portcullis:sdk-listing; world sdk-listing { export portcullis:policy/listing-gate@0.1.0; }",
    "portcullis_sdk::bindings::listing",
    "portcullis:policy/types@0.1.0" => crate::bindings::base::portcullis::policy::types
);
gate!(
    call,
    "package portcullis:sdk-call; world sdk-call { export portcullis:policy/call-gate@0.1.0; }",
    "portcullis_sdk::bindings::call",
    "portcullis:policy/types@0.1.0" => crate::bindings::base::portcullis::policy::types
);
gate!(
    result,
    "package portcullis:sdk-result; world sdk-result { export portcullis:policy/result-gate@0.1.0; }",
    "portcullis_sdk::bindings::result",
    "portcullis:policy/types@0.1.0" => crate::bindings::base::portcullis::policy::types
);
gate!(
    request,
    "package portcullis:sdk-request; world sdk-request { export portcullis:policy/request-gate@0.1.0; }",
    "portcullis_sdk::bindings::request",
    "portcullis:policy/types@0.1.0" => crate::bindings::base::portcullis::policy::types
);
gate!(
    environment,
    "package portcullis:sdk-environment; world sdk-environment { export portcullis:policy/environment-gate@0.1.0; }",
    "portcullis_sdk::bindings::environment",
    "portcullis:policy/types@0.1.0" => crate::bindings::base::portcullis::policy::types
);
