! OpenSHMEM 1.6 for Fortran 2018. Generated from the table in crates/abi/.
module shmem
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(C) :: shmem_team_t
    integer(c_intptr_t) :: handle = 0
  end type
  type, bind(C) :: shmem_ctx_t
    integer(c_intptr_t) :: handle = 0
  end type
  type, bind(C) :: shmem_team_config_t
    integer(c_int) :: num_contexts = 0
  end type
  type, bind(C) :: shmem_ctx_session_config_t
    integer(c_size_t) :: total_ops = 0
  end type

{constants}
  interface operator(==)
    logical(c_bool) function shmem_team_eq_f08(a, b) bind(C)
      import
      type(shmem_team_t), value, intent(in) :: a, b
    end function
    logical(c_bool) function shmem_ctx_eq_f08(a, b) bind(C)
      import
      type(shmem_ctx_t), value, intent(in) :: a, b
    end function
  end interface
  interface operator(/=)
    logical(c_bool) function shmem_team_ne_f08(a, b) bind(C)
      import
      type(shmem_team_t), value, intent(in) :: a, b
    end function
    logical(c_bool) function shmem_ctx_ne_f08(a, b) bind(C)
      import
      type(shmem_ctx_t), value, intent(in) :: a, b
    end function
  end interface
{interfaces}
end module
