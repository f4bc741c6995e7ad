mod approvals;
mod calls;
mod life;
mod lists;
mod policies;
mod requests;
mod stateless;
mod support;
