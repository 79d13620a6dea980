//! What is read from texts other than dumps: networks in other tools' forms, lists of hosts, speeds, names.

mod hostlist;
mod outline;
mod words;
