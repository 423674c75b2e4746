//! The OpenSHMEM and MPI libraries that are known by name.

use std::fmt::{self, Display};

/// Whose library it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// This library.
    FerroShmem,
    /// Open MPI's OpenSHMEM.
    OpenShmem,
    /// Sandia OpenSHMEM.
    Sandia,
    /// The reference implementation over UCX.
    OsssUcx,
    /// An OpenSHMEM that is not known by name.
    OtherShmem,
    /// Open MPI.
    OpenMpi,
    /// MPICH.
    Mpich,
    /// An MPI that is not known by name.
    OtherMpi,
    /// No library: threads of one process.
    OpenMp,
}

impl Family {
    /// Name in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::FerroShmem => "FerroSHMEM",
            Self::OpenShmem => "Open MPI OpenSHMEM",
            Self::Sandia => "Sandia OpenSHMEM",
            Self::OsssUcx => "OSSS-UCX",
            Self::OtherShmem => "other OpenSHMEM",
            Self::OpenMpi => "Open MPI",
            Self::Mpich => "MPICH",
            Self::OtherMpi => "other MPI",
            Self::OpenMp => "OpenMP",
        }
    }

    /// Whether its programs are written over `shmem.h`.
    pub fn is_shmem(self) -> bool {
        matches!(
            self,
            Self::FerroShmem | Self::OpenShmem | Self::Sandia | Self::OsssUcx | Self::OtherShmem
        )
    }

    /// Whether its programs are written over `mpi.h`.
    pub fn is_mpi(self) -> bool {
        matches!(self, Self::OpenMpi | Self::Mpich | Self::OtherMpi)
    }

    /// The family of an OpenSHMEM whose compiler wrapper prints `text` when asked for version
    /// and command line.
    pub fn of_shmem(text: &str) -> Self {
        let signs = [
            ("FerroSHMEM", Self::FerroShmem),
            ("Open SHMEM", Self::OpenShmem),
            ("OSSS-UCX", Self::OsssUcx),
            ("osss-ucx", Self::OsssUcx),
            ("-lsma", Self::Sandia),
        ];
        let found = signs.iter().find(|(sign, _)| text.contains(sign));
        found.map_or(Self::OtherShmem, |(_, family)| *family)
    }

    /// The family of an MPI, likewise.
    pub fn of_mpi(text: &str) -> Self {
        let signs = [("Open MPI", Self::OpenMpi), ("MPICH", Self::Mpich)];
        let found = signs.iter().find(|(sign, _)| text.contains(sign));
        found.map_or(Self::OtherMpi, |(_, family)| *family)
    }
}

impl Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
