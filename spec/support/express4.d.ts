/** Express 4 under its alias; what the specs use of it has the types of Express 5. */
declare module 'express4' {
  import express from 'express';
  export default express;
}
