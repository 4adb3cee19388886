" A client that its server calls: ask calls nvim_eval at this end. The
" environment is that of client.vim.

function! s:run() abort
  let l:chan = sockconnect($EVERYWIRE_MODE, $EVERYWIRE_ADDR, {'rpc': v:true})
  let l:r = {'asked': []}
  for l:expr in ['6 * 7', "'ü'", "{'a': [1]}"]
    call add(l:r.asked, rpcrequest(l:chan, 'ask', l:expr))
  endfor
  let l:r.failed = 0
  try
    call rpcrequest(l:chan, 'ask', 'nope()')
  catch
    let l:r.failed = 1
  endtry
  let l:r.last = rpcrequest(l:chan, 'arith.Arith/Sum', {'numbers': [20, 21]})
  return l:r
endfunction

try
  call writefile([json_encode(s:run())], $EVERYWIRE_RESULTS)
  qall!
catch
  call writefile([json_encode({'exception': v:exception, 'at': v:throwpoint})], $EVERYWIRE_RESULTS)
  cquit!
endtry
