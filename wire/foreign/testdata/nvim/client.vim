" Calls a server of ours by Neovim's own RPC client. $EVERYWIRE_MODE is tcp or
" pipe, $EVERYWIRE_ADDR where the server listens, $EVERYWIRE_RESULTS the file for
" the results, as JSON.

function! s:failure(chan, method, ...) abort
  try
    call call('rpcrequest', [a:chan, a:method] + a:000)
  catch
    return v:exception
  endtry
  return 'succeeded'
endfunction

function! s:run() abort
  let l:chan = sockconnect($EVERYWIRE_MODE, $EVERYWIRE_ADDR, {'rpc': v:true})
  let l:r = {}
  let l:r.sum = rpcrequest(l:chan, 'arith.Arith/Sum', {'numbers': [20, 21]})
  let l:r.noNumbers = rpcrequest(l:chan, 'arith.Arith/Sum')
  " Vim's numbers have 64 bits: these need every width that MessagePack has.
  let l:r.widths = []
  for l:n in [0, 127, 128, 255, 256, 65535, 65536, 4294967295, 4294967296, 9223372036854775807,
        \ -1, -32, -33, -128, -129, -32768, -32769, -2147483648, -2147483649, -9223372036854775807 - 1]
    let l:sum = rpcrequest(l:chan, 'arith.Arith/Sum', {'numbers': [l:n]})
    call add(l:r.widths, l:sum.sum == l:n)
  endfor
  let l:text = 'Grüße, 世界 🚀 "\/'
  let l:r.text = rpcrequest(l:chan, 'peer.Peer/Same', {'text': l:text}).text ==# l:text
  let l:large = repeat('é', 512 * 1024)
  let l:r.large = rpcrequest(l:chan, 'peer.Peer/Same', {'text': l:large}).text ==# l:large
  let l:doc = {'a': [1, -1.5, v:true, v:null, [], {}], 'nested': {'list': [{'x': l:text}]}}
  let l:r.document = rpcrequest(l:chan, 'echo.Echo/Echo', l:doc) ==# l:doc
  let l:r.failed = s:failure(l:chan, 'peer.Peer/Fail', {'code': 5, 'message': 'no such thing: ü'})
  let l:r.unknown = s:failure(l:chan, 'nope')
  let l:r.wrongParams = s:failure(l:chan, 'arith.Arith/Sum', {'numbers': 'x'})
  call rpcnotify(l:chan, 'peer.Peer/Note', {'text': l:text})
  let l:r.last = rpcrequest(l:chan, 'arith.Arith/Sum', {'numbers': [1]})
  call chanclose(l:chan)
  return l:r
endfunction

try
  call writefile([json_encode(s:run())], $EVERYWIRE_RESULTS)
  qall!
catch
  call writefile([json_encode({'exception': v:exception, 'at': v:throwpoint})], $EVERYWIRE_RESULTS)
  cquit!
endtry
