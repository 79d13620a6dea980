! An ordinary Fortran program under the plug-in: an MPI's Fortran library may call its own barrier past MPI_Barrier of C,
! so Fortran's entries are taken over too. Module mpi for one communicator, module mpi_f08 for a duplicate.
module taken_over
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function dlsym(handle, name) bind(c) result(found)
      import
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: found
    end function
    function counter() bind(c) result(taken)
      import
      integer(c_long) :: taken
    end function
  end interface
contains
  integer(c_long) function barriers_taken()
    procedure(counter), pointer :: call_it
    type(c_funptr) :: found
    found = dlsym(c_null_ptr, "hotlink_barriers_taken" // c_null_char)
    barriers_taken = 0
    if (.not. c_associated(found)) return
    call c_f_procpointer(found, call_it)
    barriers_taken = call_it()
  end function
end module

subroutine modern(rounds)
  use mpi_f08
  integer, intent(in) :: rounds
  type(MPI_Comm) :: copy
  integer :: k
  call MPI_Comm_dup(MPI_COMM_WORLD, copy)
  do k = 1, rounds
    call MPI_Barrier(copy)
  end do
  call MPI_Comm_free(copy)
end subroutine

program barriers
  use mpi
  use taken_over
  integer, parameter :: rounds = 100, own = 4 ! the last of these decides
  integer :: error, rank, k
  integer(c_long) :: plain, both
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  do k = 1, rounds
    call MPI_Barrier(MPI_COMM_WORLD, error)
    if (error /= MPI_SUCCESS) call MPI_Abort(MPI_COMM_WORLD, 2, error)
  end do
  plain = barriers_taken()
  call modern(rounds)
  both = barriers_taken()
  if (plain /= rounds - own .or. both < plain) then
    print *, "rank", rank, ":", plain, "and", both, "barriers taken over"
    call MPI_Abort(MPI_COMM_WORLD, 3, error)
  end if
  if (rank == 0) print '(a,i0,a,i0,a)', "Fortran: passed, ", plain, " barriers of module mpi and ", both - plain, &
    " of mpi_f08 taken over"
  call MPI_Finalize(error)
end program
