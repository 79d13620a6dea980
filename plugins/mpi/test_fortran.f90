! An ordinary Fortran program under the plug-in: an MPI's Fortran library may call its own barrier past MPI_Barrier of C,
! so Fortran's entries are taken over too. Module mpi for one communicator, module mpi_f08 for a duplicate and its halves.
! With the argument `count`: barriers until it is told to end, counted in SHARED_FILE as `test_mpi count` does.
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
    function open_file(path, flags) bind(c, name="open") result(file)
      import
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: flags
      integer(c_int) :: file
    end function
    function pread(file, number, bytes, at) bind(c) result(got)
      import
      integer(c_int), value :: file
      integer(c_int), intent(out) :: number
      integer(c_size_t), value :: bytes
      integer(c_long), value :: at
      integer(c_long) :: got
    end function
    function pwrite(file, number, bytes, at) bind(c) result(put)
      import
      integer(c_int), value :: file
      integer(c_int), intent(in) :: number
      integer(c_size_t), value :: bytes
      integer(c_long), value :: at
      integer(c_long) :: put
    end function
    function getpid() bind(c) result(pid)
      import
      integer(c_int) :: pid
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
  type(MPI_Comm) :: copy, half
  integer :: k, rank
  call MPI_Comm_dup(MPI_COMM_WORLD, copy)
  call MPI_Comm_rank(copy, rank)
  call MPI_Comm_split(copy, mod(rank, 2), rank, half)
  do k = 1, rounds
    call MPI_Barrier(copy)
    call MPI_Barrier(half)
  end do
  call MPI_Comm_free(half)
  call MPI_Comm_free(copy)
end subroutine

! Barriers of the world, a duplicate and its halves, each counted in this rank's line of SHARED_FILE once it was left;
! until the last line holds a negative number.
subroutine count_for_ever(rank)
  use mpi
  use taken_over
  integer, intent(in) :: rank
  integer, parameter :: line = 128, world_line = 63
  character(len=4096) :: path
  integer :: error, copy, half, round
  integer(c_int) :: file, told
  integer(c_long) :: done
  call get_environment_variable("SHARED_FILE", path)
  file = open_file(trim(path) // c_null_char, 2)
  if (file < 0) call MPI_Abort(MPI_COMM_WORLD, 4, error)
  done = pwrite(file, getpid(), 4_c_size_t, int(rank * line + 4, c_long))
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
  call MPI_Comm_split(copy, mod(rank, 2), rank, half, error)
  round = 0
  told = 0
  do while (told >= 0)
    round = round + 1
    call MPI_Barrier(half, error)
    if (mod(round, 8) == 0) then
      call MPI_Barrier(copy, error)
    else
      call MPI_Barrier(MPI_COMM_WORLD, error)
    end if
    done = pwrite(file, int(round, c_int), 4_c_size_t, int(rank * line, c_long))
    done = pread(file, told, 4_c_size_t, int(world_line * line, c_long))
    call MPI_Bcast(told, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error) ! all end in the same round
  end do
  call MPI_Comm_free(half, error)
  call MPI_Comm_free(copy, error)
end subroutine

program barriers
  use mpi
  use taken_over
  integer, parameter :: rounds = 100, own = 4 ! the last of these decides
  integer :: error, rank, k
  integer(c_long) :: plain, both
  character(len=8) :: what
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call get_command_argument(1, what)
  if (what == "count") then
    call count_for_ever(rank)
    call MPI_Finalize(error)
    stop
  end if
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
