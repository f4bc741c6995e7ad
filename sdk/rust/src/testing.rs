//! Native testing.
