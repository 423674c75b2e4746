//! What has a PMIx server start processes.

use std::ffi::{CStr, CString, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use rustix::process::getppid;
use rustix::thread::sched_getaffinity;

use super::types::{App, BIND_TO, HOST, Info, MAP_BY};
use crate::environment::PARENTS;
use crate::program::one_each;
use crate::{Error, Program};

/// How processes come to be on hosts.
pub(super) enum Mapping {
    /// As the launcher does by default, or on the hosts that are given, more than there are slots too.
    Slots,
    /// Each on a host that the order names. The daemons of Open MPI 4 compute on their own what is where, from
    /// the place at which the launch before ended: each has another one, and they start processes of one rank twice.
    Each {
        /// The hosts of this job's processes.
        hosts: Vec<String>,
        /// The processes that were started before, after whose hosts the next ones go on.
        first: usize,
    },
}

/// An order with all that its parts refer to.
pub(super) struct Order {
    job: Vec<Info>,
    apps: Vec<App>,
    texts: Vec<CString>,
    lists: Vec<Vec<*const c_char>>,
    options: Vec<Vec<Info>>,
}

impl Order {
    pub(super) fn new(programs: &[Program<'_>], parents: &str, mapping: &Mapping) -> Result<Self, Error> {
        let mut order =
            Self { job: Vec::new(), apps: Vec::new(), texts: Vec::new(), lists: Vec::new(), options: Vec::new() };
        let by = match mapping {
            Mapping::Slots => "slot:OVERSUBSCRIBE",
            Mapping::Each { .. } => "seq:OVERSUBSCRIBE",
        };
        let by = order.option(MAP_BY, by)?;
        order.job.push(by);
        if is_unbound() {
            // By default Open MPI would bind them, also where the job has been started with --bind-to none.
            let unbound = order.option(BIND_TO, "none")?;
            order.job.push(unbound);
        }
        let parents = format!("{}={parents}", PARENTS.name);
        let given = programs.iter().find_map(|program| program.hosts);
        let n: usize = programs.iter().map(|program| program.processes).sum();
        let mut default = match mapping {
            Mapping::Slots => Vec::new(),
            Mapping::Each { hosts, first } => {
                let start = first % hosts.len();
                let next = [&hosts[start..], &hosts[..start]].concat();
                one_each(&next.join(","), n)
            }
        };
        for program in programs {
            let hosts = match (program.hosts.or(given), mapping) {
                (Some(list), _) => {
                    let list = list.to_string_lossy();
                    if let Mapping::Each { hosts, .. } = mapping {
                        check_hosts(&list, hosts)?;
                    }
                    one_each(&list, program.processes)
                }
                (None, Mapping::Each { .. }) => default.drain(..program.processes).collect(),
                (None, Mapping::Slots) => Vec::new(),
            };
            let file = program.file.as_os_str();
            let words = [file].into_iter();
            let words = words.chain(program.arguments.iter().map(|word| word.as_os_str()));
            let arguments = order.list(words)?;
            let variables = program.variables.iter().map(|word| word.as_os_str());
            let variables = order.list(variables.chain([OsStr::new(&parents)]))?;
            let mut options = Vec::new();
            if !hosts.is_empty() {
                options.push(order.option(HOST, &hosts.join(","))?);
            }
            let command = order.text(file)?;
            let directory = order.text(program.directory.as_os_str())?;
            order.apps.push(App {
                command,
                arguments,
                variables,
                directory,
                processes: program.processes as _,
                options: match options.is_empty() {
                    true => ptr::null(),
                    false => options.as_ptr(),
                },
                n_options: options.len(),
            });
            order.options.push(options);
        }
        Ok(order)
    }

    /// Options of the job, and the programs.
    pub(super) fn parts(&self) -> (&[Info], &[App]) {
        (&self.job, &self.apps)
    }

    fn text(&mut self, text: &OsStr) -> Result<*const c_char, Error> {
        let text = CString::new(text.as_bytes()).map_err(|_| Error::NotStarted(format!("{text:?} has a zero byte")))?;
        let start = text.as_ptr();
        self.texts.push(text);
        Ok(start)
    }

    /// Texts up to a null pointer.
    fn list<'a>(&mut self, words: impl Iterator<Item = &'a OsStr>) -> Result<*const *const c_char, Error> {
        let list = words.map(|word| self.text(word));
        let mut list = list.collect::<Result<Vec<_>, _>>()?;
        list.push(ptr::null());
        let start = list.as_ptr();
        self.lists.push(list);
        Ok(start)
    }

    fn option(&mut self, name: &CStr, text: &str) -> Result<Info, Error> {
        self.text(OsStr::new(text))?;
        let text = self.texts.last().expect("it was added");
        Ok(Info::text(name, text))
    }
}

/// Whether this process may run on all CPUs that the launcher's process on this host has, which has started it.
fn is_unbound() -> bool {
    let all = getppid().and_then(|launcher| sched_getaffinity(Some(launcher)).ok());
    all.is_some_and(|all| sched_getaffinity(None).is_ok_and(|own| own == all))
}

/// That processes of this job are on the hosts: Open MPI 4 never answers for others, and its job does not end.
fn check_hosts(list: &str, of_job: &[String]) -> Result<(), Error> {
    let mut names = list.split(',').map(|host| host.split(':').next().unwrap_or(host));
    match names.find(|name| !of_job.iter().any(|host| host == name)) {
        None => Ok(()),
        Some(name) => Err(Error::NotStarted(format!(
            "host is {name:?}, and Open MPI 4 starts PEs on the hosts of this job alone, which are {}",
            distinct(of_job).join(",")
        ))),
    }
}

fn distinct(hosts: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for host in hosts {
        if !names.contains(&host.as_str()) {
            names.push(host);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use super::*;

    /// The texts of a list.
    fn texts(list: *const *const c_char) -> Vec<String> {
        let mut texts = Vec::new();
        for i in 0.. {
            // SAFETY: the list ends with a null pointer, where the loop does.
            let text = unsafe { *list.add(i) };
            if text.is_null() {
                break;
            }
            // SAFETY: a C string of the order, which lives.
            texts.push(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
        }
        texts
    }

    #[test]
    fn an_order_has_what_the_programs_are_given() {
        let arguments = ["two words", ""].map(OsString::from);
        let variables = [OsString::from("A=b")];
        let program = Program {
            file: Path::new("/bin/true"),
            arguments: &arguments,
            variables: &variables,
            directory: Path::new("/tmp"),
            processes: 2,
            hosts: None,
        };
        let order = Order::new(&[program], "port", &Mapping::Slots).unwrap();
        let (job, apps) = order.parts();
        assert_eq!((job.len(), apps.len()), (1 + usize::from(is_unbound()), 1));
        assert_eq!(texts(apps[0].arguments), ["/bin/true", "two words", ""]);
        assert_eq!(texts(apps[0].variables), ["A=b", "FERROSHMEM_PARENTS=port"]);
        assert_eq!((apps[0].processes, apps[0].n_options), (2, 0));
    }

    #[test]
    fn hosts_are_of_the_job() {
        let hosts = ["a", "a", "b"].map(str::to_owned);
        check_hosts("b:7,a", &hosts).unwrap();
        let refused = check_hosts("a,c", &hosts).unwrap_err().to_string();
        assert!(refused.contains("host is \"c\"") && refused.ends_with("which are a,b"));
    }
}
