//! Servers of revision 2025-11-25 that want a page opened before they do anything.

use portcullis_model::RequestKind;
use portcullis_model::json::Value;
use rmcp::model::{ConstString as _, ElicitationCreateRequestMethod};

use super::server::Server;
use super::{Answer, Fleet, LinkError, peer};
use crate::approver::shown;
use crate::downstream::{ClientSession, Reply, own_code};
use crate::jsonrpc::code;

/// So many pages one answer may name; of a server that wants more the call fails.
const MOST_PAGES: usize = 8;
/// So many times one call may want pages opened.
pub(super) const MOST_TIMES: usize = 3;

/// What came of the pages that an answer wants opened.
pub(super) enum Pages {
    /// It wants none, or the client cannot be asked: the answer stands.
    Stand,
    /// All were opened: the call is sent again. Nothing was done the first time.
    Opened,
    /// The client's user did not want to.
    Declined,
}

impl Fleet {
    /// Asks the client to open the pages that an error wants opened first (MCP 2025-11-25, URL elicitation), each through
    /// the request gate. A client of that era deals with the error itself.
    pub(super) async fn open_pages(
        &self,
        session: &ClientSession,
        server: &Server,
        outcome: &Result<Answer, LinkError>,
    ) -> Pages {
        let Ok(Err(error)) = outcome else {
            return Pages::Stand;
        };
        if error.code() != code::URL_ELICITATION_REQUIRED || !session.is_stateless() {
            return Pages::Stand;
        }
        let wanted = error.data().and_then(|data| data.get("elicitations")).and_then(Value::as_array);
        let wanted = wanted.unwrap_or_default();
        if wanted.is_empty() || wanted.len() > MOST_PAGES {
            return Pages::Stand;
        }
        for page in wanted {
            let Some(url) = page.get("url").and_then(Value::as_str) else {
                return Pages::Stand;
            };
            let mut document = page.as_object().cloned().unwrap_or_default();
            document.insert("mode", "url");
            let kind = RequestKind::ElicitationUrl(url.to_owned());
            let method = ElicitationCreateRequestMethod::VALUE;
            let outlet = server.outlet_to(session.number, None);
            let answerer = (&peer::Answerer::Client(session), outlet);
            match peer::ask(self, answerer, server, (method, None), kind, document.into()).await {
                Ok(answer) if answer.get("action").and_then(Value::as_str) == Some("accept") => {}
                Ok(_) => return Pages::Declined,
                Err(_) => return Pages::Stand,
            }
        }
        Pages::Opened
    }
}

/// Returns the reply to a call whose pages were not opened.
pub(super) fn declined(server: &Server, as_tool: bool) -> Reply {
    let name = shown(server.name().as_str(), 64);
    let text = format!(
        "The MCP server `{name}` wants a page opened first, and that was declined. Nothing was done. Do not try to open it \
         yourself; ask the user."
    );
    Reply::failed(&text, own_code::REFUSED, "page-declined", as_tool)
}
