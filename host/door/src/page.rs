//! Pages of consent: plain HTML without script, everything of strangers escaped.

use std::fmt::Write as _;

use crate::browser::Code;
use crate::desk::ConsentView;
use crate::shown::html;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:3em auto;padding:0 1em}\
    dt{font-weight:bold;margin-top:.6em}dd{margin:0;overflow-wrap:anywhere}code{font-size:1.1em}\
    .warning{border-left:4px solid #b00;padding-left:1em}input,button{font:inherit;padding:.3em .6em}";

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n<body>{body}</body></html>\n",
        html(title)
    )
}

/// A page that says what is wrong. The text is one of ours.
pub(crate) fn problem(text: &str) -> String {
    document("Portcullis", &format!("<h1>This cannot be asked for</h1><p>{}</p>", html(text)))
}

/// The form by which the operator consents on the page itself.
pub(crate) struct PassphraseForm<'a> {
    /// The parameters of the request.
    pub(crate) parameters: &'a [(&'a str, &'a str)],
    /// What makes it a form of this browser.
    pub(crate) token: &'a str,
    /// What was wrong with the last attempt.
    pub(crate) problem: Option<&'a str>,
}

/// A page that asks the operator.
pub(crate) fn consent(view: &ConsentView, code: Code, form: Option<&PassphraseForm<'_>>) -> String {
    let mut body = String::from("<h1>A client asks to be let in</h1>\n<dl>");
    let days = format!("at most {} days, renewed without asking again while it is used", view.days);
    for (term, text) in [
        ("It calls itself", view.client.as_str()),
        ("Which is", &view.known),
        ("Its id", &view.client_id),
        ("It may then use", &view.resource),
        ("Through every gate of the policies, for", &days),
        ("The answer goes to", &view.redirect),
    ] {
        let _infallible = write!(body, "<dt>{}</dt><dd>{}</dd>", html(term), html(text));
    }
    body.push_str("</dl>\n");
    for warning in &view.warnings {
        let _infallible = writeln!(body, "<p class=\"warning\">{}</p>", html(warning));
    }
    let _infallible = writeln!(
        body,
        "<p>If you asked for this, run this on the machine of the gateway, and compare what it shows:</p>\
         <p><code>portcullis approve {code}</code></p>\
         <p>This page goes on by itself after that. If you did not ask for this, close it.</p>"
    );
    if let Some(form) = form {
        body.push_str("<form method=\"post\" action=\"/authorize\" autocomplete=\"off\"><p>Or give the passphrase for approvals here:</p>");
        if let Some(problem) = form.problem {
            let _infallible = write!(body, "<p class=\"warning\">{}</p>", html(problem));
        }
        for (name, value) in form.parameters {
            let _infallible = write!(body, "<input type=\"hidden\" name=\"{}\" value=\"{}\">", html(name), html(value));
        }
        let _infallible = writeln!(
            body,
            "<input type=\"hidden\" name=\"form_token\" value=\"{}\">\
             <p><label>Passphrase <input type=\"password\" name=\"passphrase\" autocomplete=\"off\"></label></p>\
             <p><button name=\"decision\" value=\"allow\">Let it in</button> \
             <button name=\"decision\" value=\"deny\">Refuse</button></p></form>",
            html(form.token)
        );
    }
    document("Portcullis: a client asks to be let in", &body)
}

/// A page of a client whose description is not read before the operator is there.
pub(crate) fn undescribed(host: &str, code: Code) -> String {
    document(
        "Portcullis: a client asks to be let in",
        &format!(
            "<h1>A client of {} asks to be let in</h1><p>It describes itself in a document on that host, which is read \
             once you are there. If you asked for this, run this on the machine of the gateway:</p>\
             <p><code>portcullis approve {code}</code></p>\
             <p>If you did not ask for this, close this page.</p>\n",
            html(host)
        ),
    )
}
