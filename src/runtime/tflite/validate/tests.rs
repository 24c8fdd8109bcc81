//! Files that pass, and files that do not.

mod real;
